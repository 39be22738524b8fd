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
  if (path === null) return sendUnknown(response, url.pathname);
  try {
    const body = { ...Object.fromEntries(url.searchParams), ...(await readJson(request)) };
    const answer = await answerCall(chain, path[1] === 'walletsolidity', must(path[2]), body);
    if (answer === null) return sendUnknown(response, url.pathname);
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
  let body: unknown;
  try {
    body = JSON.parse(text.toString('utf8'));
  } catch {
    throw new BadRequest('syntax error');
  }
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
}

/** The server of java-tron refuses what it does not know with a page. */
function sendUnknown(response: ServerResponse, path: string): void {
  const title = '<title>Error 405 HTTP method POST is not supported by this URL</title>';
  const said = `<html><head>${title}</head><body><h2>HTTP ERROR 405</h2><p>${path}</p></body></html>`;
  response.writeHead(405, { 'content-type': 'text/html;charset=iso-8859-1' }).end(said);
}

function send(response: ServerResponse, status: number, answer: unknown): void {
  const text = JSON.stringify(answer);
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) })
    .end(text);
}
