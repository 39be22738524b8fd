import { Agent, request } from 'node:http';

/** The node understood the call and refused it. */
export class RpcRefused extends Error {
  override readonly name = 'RpcRefused';
}

const TIMEOUT_MS = 20_000;

export type Rpc = <Result>(method: string, params?: readonly unknown[]) => Promise<Result>;

/**
 * JSON-RPC calls to a local node. A restarted node needs a new instance. Rejects with `RpcRefused`, or with the
 * connection's own error.
 */
export function createRpc(url: string): Rpc {
  const agent = new Agent({ keepAlive: true });
  let id = 0;
  return async <Result>(method: string, params: readonly unknown[] = []): Promise<Result> => {
    const text = await post(agent, url, JSON.stringify({ jsonrpc: '2.0', id: (id += 1), method, params }));
    const answer = JSON.parse(text) as { result: Result; error?: { message: string } };
    if (answer.error) throw new RpcRefused(`${method}: ${answer.error.message}`);
    return answer.result;
  };
}

/**
 * A node may close an idle connection while a call is in flight: the call is then repeated once over a new connection.
 */
async function post(agent: Agent, url: string, body: string): Promise<string> {
  try {
    return await postOnce(agent, url, body);
  } catch (error) {
    if (error instanceof IdleConnectionClosed) return postOnce(agent, url, body);
    throw error;
  }
}

class IdleConnectionClosed extends Error {
  override readonly name = 'IdleConnectionClosed';
}

function postOnce(agent: Agent, url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const outgoing = request(url, { method: 'POST', headers, agent, timeout: TIMEOUT_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      response.on('error', reject);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer from ${url} in ${TIMEOUT_MS} ms`)));
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const closed = outgoing.reusedSocket && error.code === 'ECONNRESET';
      reject(closed ? new IdleConnectionClosed(error.message, { cause: error }) : error);
    });
    outgoing.end(body);
  });
}

/** Hex quantity as JSON-RPC writes it. */
export const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;
