import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { foreignRequest } from '../../runtime/http/loopback-request.ts';
import { ProtoError } from './protobuf.ts';
import type { FacadeChain } from './chain.ts';
import { answerCall } from './wallet-api.ts';
import { BadRequest } from './wallet-body.ts';
import { must } from '../../domain/values/must.ts';
import { bodyOf } from '../../runtime/http/body-of.ts';
import { portOf } from '../../runtime/util/port-of.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const PATH = /^\/(wallet|walletsolidity)\/([a-z]+)$/;

/** Serves the facade on a free port of 127.0.0.1. */
export async function serveFacade(chain: FacadeChain): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server: Server = createServer((request, response) => {
    respond(chain, request, response).catch((error: unknown) => {
      if (!response.headersSent) send(response, 500, { Error: error instanceof Error ? error.message : 'failed' });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function respond(chain: FacadeChain, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const fault = foreignRequest(request.headers, request.method);
  if (fault !== null) return send(response, 400, { Error: fault });
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const path = PATH.exec(url.pathname);
  if (path === null) return send(response, 404, { Error: 'no such path' });
  const body = { ...Object.fromEntries(url.searchParams), ...(await readJson(request)) };
  try {
    const answer = await answerCall(chain, path[1] === 'walletsolidity', must(path[2]), body);
    if (answer === null) return send(response, 404, { Error: 'no such call in the sandbox' });
    return send(response, 200, answer);
  } catch (error) {
    if (error instanceof BadRequest || error instanceof ProtoError || error instanceof RangeError)
      return send(response, 200, { Error: `${error.name} : ${error.message}` });
    throw error;
  }
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const text = await bodyOf(request, MAX_BODY_BYTES);
  if (text === null) throw new BadRequest('body too large');
  if (text.length === 0) return {};
  const body: unknown = JSON.parse(text.toString('utf8'));
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
}

function send(response: ServerResponse, status: number, answer: unknown): void {
  const text = JSON.stringify(answer);
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) })
    .end(text);
}
