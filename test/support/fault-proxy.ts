import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/* A provider that misbehaves on demand: it stands before a real node and changes what passes. */

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What goes back instead of the node's answer. `hang`: nothing, ever. */
export type Reply =
  | { readonly result: unknown }
  | {
      readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
      readonly status?: number;
    }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly text?: string }
  | 'hang';

type Forward = (call: RpcCall) => Promise<unknown>;
/** Undefined lets the next fault, and in the end the node, answer. */
export type Fault = (call: RpcCall, forward: Forward) => Promise<Reply | undefined> | Reply | undefined;

interface LogFilter {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
}

type AnyLog = Readonly<Record<string, unknown>> & { readonly blockNumber: string };

export class FaultProxy {
  readonly url: string;
  readonly calls: RpcCall[] = [];
  readonly #server: Server;
  #target: string;
  #faults: Fault[] = [];

  private constructor(server: Server, target: string) {
    this.#server = server;
    this.#target = target;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async before(target: string): Promise<FaultProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new FaultProxy(server, target);
    server.on('request', (request, response) => void proxy.#serve(request, response));
    return proxy;
  }

  /** Adds a fault; the newest is asked first. */
  play(fault: Fault): this {
    this.#faults.unshift(fault);
    return this;
  }

  heal(): void {
    this.#faults = [];
  }

  /** Another node serves from now on. */
  retarget(target: string): void {
    this.#target = target;
  }

  count(method: string): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, method, params } = JSON.parse(await textOf(request)) as {
      id: number;
      method: string;
      params: unknown[];
    };
    const call = { method, params };
    this.calls.push(call);
    try {
      send(response, id, await this.#reply(call));
    } catch (error) {
      send(response, id, error instanceof NodeError ? { error: error.error } : { status: 502, text: String(error) });
    }
  }

  async #reply(call: RpcCall): Promise<Reply> {
    const forward: Forward = (other) => this.#forward(other);
    for (const fault of this.#faults) {
      const reply = await fault(call, forward);
      if (reply !== undefined) return reply;
    }
    return { result: await this.#forward(call) };
  }

  async #forward(call: RpcCall): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
    const answer = await fetch(this.#target, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { result, error } = (await answer.json()) as { result?: unknown; error?: NodeError['error'] };
    if (error !== undefined) throw new NodeError(error);
    return result;
  }
}

/** The node's own refusal, passed on as it is. */
class NodeError extends Error {
  readonly error: { readonly code: number; readonly message: string };

  constructor(error: NodeError['error']) {
    super(error.message);
    this.error = error;
  }
}

/** The node is that many blocks behind the network, consistently. */
export function laggingBy(blocks: number): Fault {
  return upTo(async (forward) => Number(await forward({ method: 'eth_blockNumber', params: [] })) - blocks);
}

/** Sees its own headers, but its log index ends at a block: too few logs and no error. */
export function logsIndexedUpTo(block: number): Fault {
  return onLogs((logs) => logs.filter((log) => Number(log.blockNumber) <= block), {
    byHash: { code: -32000, message: 'unknown block' },
  });
}

/** Cuts answers for ranges to the first logs, silently. */
export function logsCutTo(count: number): Fault {
  return onLogs((logs) => logs.slice(0, count), {});
}

/** The first so many answers for ranges are empty, silently. */
export function emptyLogsTimes(times: number): Fault {
  let left = times;
  return onLogs((logs) => (left-- > 0 ? [] : logs), {});
}

export const LIMIT_STYLES = {
  infuraResults: (from: number, works: number) => ({
    code: -32005,
    message: `query returned more than 10000 results. Try with this block range [${hex(from)}, ${hex(works)}].`,
    data: { from: hex(from), limit: 10_000, to: hex(works) },
  }),
  infuraRange: (from: number, works: number) => ({
    code: -32602,
    message: `range 1000000 exceeds limit of ${works - from + 1}`,
  }),
  alchemySize: (from: number, works: number) => ({
    code: -32602,
    message: `Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [${hex(from)}, ${hex(works)}]`,
  }),
  alchemyFree: (from: number, works: number) => ({
    code: -32600,
    message: `Under the Free tier plan, you can make eth_getLogs requests with up to a ${works - from + 1} block range. Based on your parameters, this block range should work: [${hex(from)}, ${hex(works)}]. Upgrade to PAYG for expanded block range.`,
  }),
  quickNode: () => ({ code: -32012, message: 'eth_getLogs response is too large' }),
  nameless: () => ({ code: -32000, message: 'query timeout exceeded' }),
} as const satisfies Record<string, (from: number, works: number) => { code: number; message: string; data?: unknown }>;

/** Refuses ranges of more than so many blocks in a provider's own words. */
export function limitedTo(blocks: number, style: keyof typeof LIMIT_STYLES): Fault {
  return ({ method, params }) => {
    const filter = params[0] as LogFilter;
    if (method !== 'eth_getLogs' || filter.blockHash !== undefined) return undefined;
    const from = Number(filter.fromBlock);
    if (Number(filter.toBlock) - from + 1 <= blocks) return undefined;
    return { error: LIMIT_STYLES[style](from, from + blocks - 1), status: 400 };
  };
}

/** Refuses the first so many requests: by status 429, or inside a JSON-RPC error. */
export function rateLimitedTimes(
  times: number,
  options: { readonly retryAfterSec?: number; readonly inBody?: boolean } = {},
): Fault {
  let left = times;
  return () => {
    left -= 1;
    if (left < 0) return undefined;
    if (options.inBody) return { error: { code: -32012, message: 'credits limited to 6000/sec' } };
    return {
      status: 429,
      ...(options.retryAfterSec === undefined ? {} : { headers: { 'retry-after': String(options.retryAfterSec) } }),
    };
  };
}

/** Never answers these methods (all when none is named). */
export function hanging(...methods: string[]): Fault {
  return ({ method }) => (methods.length === 0 || methods.includes(method) ? 'hang' : undefined);
}

export function refusing(method: string, error: { readonly code: number; readonly message: string }): Fault {
  return (call) => (call.method === method ? { error } : undefined);
}

export function down(status = 503): Fault {
  return () => ({ status, text: 'no' });
}

/** Changes what the node says to one method. */
export function lying(method: string, change: (result: never, call: RpcCall) => unknown): Fault {
  return async (call, forward) =>
    call.method === method ? { result: change((await forward(call)) as never, call) } : undefined;
}

function onLogs(
  change: (logs: AnyLog[]) => AnyLog[],
  options: { readonly byHash?: { readonly code: number; readonly message: string } },
): Fault {
  return async (call, forward) => {
    if (call.method !== 'eth_getLogs') return undefined;
    if ((call.params[0] as LogFilter).blockHash !== undefined)
      return options.byHash ? { error: options.byHash } : undefined;
    return { result: change((await forward(call)) as AnyLog[]) };
  };
}

/** Everything above a block is unknown. */
function upTo(last: (forward: Forward) => Promise<number>): Fault {
  return async (call, forward) => {
    const limit = await last(forward);
    const { method, params } = call;
    if (method === 'eth_blockNumber') return { result: hex(limit) };
    if (method === 'eth_getBlockByNumber') {
      if (params[0] === 'latest') return { result: await forward({ method, params: [hex(limit), params[1]] }) };
      if (params[0] === 'finalized')
        return { result: await forward({ method, params: [hex(Math.max(0, limit - 2)), params[1]] }) };
      return Number(params[0]) > limit ? { result: null } : undefined;
    }
    if (method === 'eth_getLogs')
      return { result: ((await forward(call)) as AnyLog[]).filter((log) => Number(log.blockNumber) <= limit) };
    if (method !== 'eth_getTransactionReceipt') return undefined;
    const receipt = (await forward(call)) as AnyLog | null;
    return receipt && Number(receipt.blockNumber) > limit ? { result: null } : { result: receipt };
  };
}

const hex = (value: number): string => `0x${value.toString(16)}`;

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, id: number, reply: Reply): void {
  if (reply === 'hang') return;
  if ('result' in reply || 'error' in reply) {
    response.writeHead('error' in reply ? (reply.status ?? 200) : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        ...('result' in reply ? { result: reply.result } : { error: reply.error }),
      }),
    );
    return;
  }
  response.writeHead(reply.status, reply.headers ?? {});
  response.end(reply.text ?? '');
}
