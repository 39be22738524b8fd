import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { foreignRequest } from '../../runtime/http/loopback-request.ts';
import { base58 } from '../../chain-formats/base58.ts';
import { answerCorrected, type JsonRpcAnswer, type JsonRpcRequest, type Upstream } from './rpc-corrections.ts';
import { bodyOf } from '../../runtime/http/body-of.ts';
import { portOf } from '../../runtime/util/port-of.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_BATCH = 100;

/** Serves Surfpool's RPC, corrected, and its notifications on one port of 127.0.0.1. */
export async function serveSurfpool(rpcUrl: string, wsUrl: string): Promise<{ readonly url: string }> {
  const upstream = upstreamOf(rpcUrl);
  const server = createServer((request, response) => {
    const fault = foreignRequest(request.headers, request.method);
    if (fault !== null)
      return send(response, 400, { jsonrpc: '2.0', id: null, error: { code: -32600, message: fault } });
    answer(request, upstream).then(
      (body) => send(response, 200, body),
      (error: unknown) =>
        send(response, 500, {
          jsonrpc: '2.0',
          id: null,
          error: { code: -32603, message: error instanceof Error ? error.message : 'failed' },
        }),
    );
  });
  server.on('upgrade', (request, socket, head) => {
    // A WebSocket starts as a GET request, and any web page may read from one.
    if (foreignRequest(request.headers, 'POST') !== null) socket.destroy();
    else forward(request, socket, head, new URL(wsUrl));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${portOf(server)}` };
}

function upstreamOf(rpcUrl: string): Upstream {
  const forwarded = async (request: JsonRpcRequest): Promise<JsonRpcAnswer> => {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }),
    });
    return (await response.json()) as JsonRpcAnswer;
  };
  return Object.assign(forwarded, { genesis: base58(randomBytes(32)) });
}

/** Surfpool refuses batches, so each one is split. */
async function answer(request: IncomingMessage, upstream: Upstream): Promise<unknown> {
  const text = await bodyOf(request, MAX_BODY_BYTES);
  if (text === null) throw new Error('body too large');
  const body = JSON.parse(text.toString('utf8')) as JsonRpcRequest | readonly JsonRpcRequest[];
  if (!Array.isArray(body)) return answerCorrected(body as JsonRpcRequest, upstream);
  if (body.length > MAX_BATCH) throw new Error(`a batch of over ${MAX_BATCH} requests`);
  return Promise.all((body as readonly JsonRpcRequest[]).map((single) => answerCorrected(single, upstream)));
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text);
}

/** Forwards a WebSocket byte by byte, including its handshake. */
function forward(request: IncomingMessage, socket: Duplex, head: Buffer, target: URL): void {
  const through = connect(Number(target.port), target.hostname, () => {
    const headers = request.rawHeaders.reduce(
      (text, part, index) => text + part + (index % 2 === 0 ? ': ' : '\r\n'),
      '',
    );
    through.write(`GET ${request.url ?? '/'} HTTP/1.1\r\n${headers}\r\n`);
    through.write(head);
    through.pipe(socket).pipe(through);
  });
  through.on('error', () => socket.destroy());
  socket.on('error', () => through.destroy());
}
