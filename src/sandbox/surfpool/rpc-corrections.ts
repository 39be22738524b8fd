import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { advancedBy, withNonce } from '../../chain-formats/solana-nonce.ts';
import { must } from '../../domain/values/must.ts';

/**
 * Surfpool answers some calls differently from Agave, the validator of the real network. These corrections sit in front
 * of it, so that code that works here also works there.
 */

export interface JsonRpcRequest {
  readonly jsonrpc?: string;
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: readonly unknown[];
}

export type JsonRpcAnswer = { readonly jsonrpc: '2.0'; readonly id: unknown } & (
  | { readonly result: unknown }
  | { readonly error: RpcFault }
);

interface RpcFault {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * Sends one request to Surfpool itself. `genesis` identifies the chain: Surfpool's own hash repeats when it starts
 * twice within a second.
 */
export interface Upstream {
  (request: JsonRpcRequest): Promise<JsonRpcAnswer>;
  readonly genesis: string;
}

type Config = Readonly<Record<string, unknown>>;
type Commitment = 'processed' | 'confirmed' | 'finalized';

/** Thrown inside a correction to return one of Agave's errors (`rpc-client-api/src/custom_error.rs`). */
class Refusal extends Error {
  readonly fault: RpcFault;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.fault = data === undefined ? { code, message } : { code, message, data };
  }
}

export async function answerCorrected(request: JsonRpcRequest, upstream: Upstream): Promise<JsonRpcAnswer> {
  const id = request.id ?? null;
  try {
    await checkContextSlot(request, upstream);
    const asked = withoutContextSlot(request);
    const correct = corrections[request.method ?? ''];
    if (correct !== undefined) return { jsonrpc: '2.0', id, result: await correct(asked, upstream) };
    return await correctContext(asked, await upstream(asked), upstream);
  } catch (error) {
    if (error instanceof Refusal) return { jsonrpc: '2.0', id, error: error.fault };
    throw error;
  }
}

/**
 * Surfpool starts at slot 31 but reports slots 0 and up as finalized, without blocks for them. Nothing can have
 * happened in the first slot, so it counts as finalized from the start.
 */
const FIRST_SLOT = 31;

/** Surfpool does not advance the nonce of a failed transaction; Agave does, so that nothing else can use it. */
const NONCE_LOOKS = 40;
const NONCE_LOOK_MS = 25;

async function correctSending(request: JsonRpcRequest, upstream: Upstream): Promise<unknown> {
  const signature = await ask(upstream, request);
  const [wire] = request.params ?? [];
  const account = configOf(request)['encoding'] === 'base64' ? advancedBy(Buffer.from(String(wire), 'base64')) : null;
  if (account !== null && (await hasFailed(upstream, signature))) {
    const { value } = (await ask(upstream, {
      method: 'getAccountInfo',
      params: [account, { encoding: 'base64' }],
    })) as {
      value: { readonly data: readonly [string, string] } | null;
    };
    const data = value && withNonce(Buffer.from(value.data[0], 'base64'), randomBytes(32)).toString('hex');
    if (data) await ask(upstream, { method: 'surfnet_setAccount', params: [account, { data }] });
  }
  return signature;
}

async function hasFailed(upstream: Upstream, signature: unknown): Promise<boolean> {
  for (let looks = 0; looks < NONCE_LOOKS; looks += 1) {
    const { value } = (await ask(upstream, { method: 'getSignatureStatuses', params: [[signature]] })) as {
      value: readonly ({ err: unknown } | null)[];
    };
    if (value[0]) return value[0].err !== null;
    await sleep(NONCE_LOOK_MS);
  }
  return false;
}

const corrections: Readonly<Record<string, (request: JsonRpcRequest, upstream: Upstream) => Promise<unknown>>> = {
  getTransaction: correctTransaction,
  getSignaturesForAddress: correctSignatures,
  getBlock: correctBlock,
  sendTransaction: correctSending,
  getGenesisHash: async (_, upstream) => upstream.genesis,
  getSlot: (request, upstream) => slotOf(upstream, commitmentOf(configOf(request))),
};

interface TransactionAnswer {
  readonly slot: number;
  readonly version?: unknown;
}

async function correctTransaction(request: JsonRpcRequest, upstream: Upstream): Promise<unknown> {
  const config = configOf(request);
  const commitment = committed(config);
  const transaction = (await ask(upstream, request)) as TransactionAnswer | null;
  if (transaction === null) return null;
  refuseVersion(transaction.version, config);
  if (transaction.slot > (await slotOf(upstream, commitment))) return null;
  return { ...transaction, blockTime: await blockTimeOf(upstream, transaction.slot) };
}

/** Zeros in base58, which are never a signature: Surfpool lists a refused transaction under it. */
const NO_SIGNATURE = '1'.repeat(64);

async function correctSignatures(request: JsonRpcRequest, upstream: Upstream): Promise<unknown> {
  const config = configOf(request);
  const commitment = committed(config);
  for (const cursor of [config['before'], config['until']]) {
    if (typeof cursor !== 'string') continue;
    const params = [[cursor], { searchTransactionHistory: true }];
    const { value } = (await ask(upstream, { method: 'getSignatureStatuses', params })) as {
      value: readonly unknown[];
    };
    if (!value[0]) throw new Refusal(-32020, `Transaction ${cursor} not found`);
  }
  const signatures = (await ask(upstream, request)) as readonly { readonly signature: string; readonly slot: number }[];
  const limit = await slotOf(upstream, commitment);
  return signatures.filter(({ signature, slot }) => slot <= limit && signature !== NO_SIGNATURE);
}

async function correctBlock(request: JsonRpcRequest, upstream: Upstream): Promise<unknown> {
  const [slot] = request.params ?? [];
  const config = configOf(request);
  if (typeof slot === 'number' && slot > (await slotOf(upstream, committed(config))))
    throw new Refusal(-32004, `Block not available for slot ${slot}`);
  const block = (await ask(upstream, {
    ...request,
    params: [slot, { encoding: 'json', ...config, commitment: 'processed' }],
  })) as Readonly<Record<string, unknown>> | null;
  if (block === null || typeof slot !== 'number') return block;
  const transactions = (block['transactions'] ?? []) as readonly { readonly version?: unknown }[];
  for (const { version } of transactions) refuseVersion(version, config);
  return { ...block, blockTime: await blockTimeOf(upstream, slot) };
}

/** State is always the newest, as its context says; it must not show a slot that `getSlot` does not show yet. */
async function correctContext(
  request: JsonRpcRequest,
  answer: JsonRpcAnswer,
  upstream: Upstream,
): Promise<JsonRpcAnswer> {
  const result =
    'result' in answer ? (answer.result as { readonly context?: { readonly slot?: unknown } } | null) : null;
  const context = typeof result === 'object' ? result?.context : undefined;
  if (typeof context?.slot !== 'number') return answer;
  const slot = Math.min(context.slot, await slotOf(upstream, commitmentOf(configOf(request))));
  return { jsonrpc: '2.0', id: answer.id, result: { ...result, context: { ...context, slot } } };
}

/** Any call may require a node to have reached a minimum slot. */
async function checkContextSlot(request: JsonRpcRequest, upstream: Upstream): Promise<void> {
  const wanted = configOf(request)['minContextSlot'];
  if (typeof wanted !== 'number') return;
  const contextSlot = await slotOf(upstream, commitmentOf(configOf(request)));
  if (contextSlot < wanted) throw new Refusal(-32016, 'Minimum context slot has not been reached', { contextSlot });
}

function refuseVersion(version: unknown, config: Config): void {
  const supported = config['maxSupportedTransactionVersion'];
  if (typeof version !== 'number' || (typeof supported === 'number' && supported >= version)) return;
  throw new Refusal(
    -32015,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
  );
}

/** Surfpool treats the slot as a filter and omits older transactions. */
function withoutContextSlot(request: JsonRpcRequest): JsonRpcRequest {
  const { minContextSlot, ...config } = configOf(request);
  return minContextSlot === undefined
    ? request
    : { ...request, params: [...must(request.params).slice(0, -1), config] };
}

/** The config is the last object among the parameters; some calls take a bare encoding instead. */
function configOf(request: JsonRpcRequest): Config {
  const last = request.params?.at(-1);
  return typeof last === 'object' && last !== null && !Array.isArray(last) ? (last as Config) : {};
}

function commitmentOf(config: Config): Commitment {
  const wanted = config['commitment'];
  return wanted === 'processed' || wanted === 'confirmed' ? wanted : 'finalized';
}

function committed(config: Config): Commitment {
  const commitment = commitmentOf(config);
  if (commitment === 'processed') throw new Refusal(-32602, 'Method does not support commitment below `confirmed`');
  return commitment;
}

async function slotOf(upstream: Upstream, commitment: Commitment): Promise<number> {
  return Math.max(FIRST_SLOT, (await ask(upstream, { method: 'getSlot', params: [{ commitment }] })) as number);
}

/** Surfpool's own answers divide the time by a thousand once too often. */
async function blockTimeOf(upstream: Upstream, slot: number): Promise<unknown> {
  return ask(upstream, { method: 'getBlockTime', params: [slot] });
}

async function ask(upstream: Upstream, request: JsonRpcRequest): Promise<unknown> {
  const answer = await upstream({ ...request, jsonrpc: '2.0', id: request.id ?? 1 });
  if ('error' in answer) throw new Refusal(answer.error.code, answer.error.message, answer.error.data);
  return answer.result;
}
