import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';
import { MAX_BODY_BYTES } from './endpoint.ts';

export interface HttpServerLimits {
  readonly headersTimeoutMs: number;
  /** For a whole request to arrive, its body included. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxHeaderBytes: number;
  /** How often requests are checked against the two timeouts. */
  readonly checkIntervalMs: number;
}

export const DEFAULT_LIMITS: HttpServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  keepAliveTimeoutMs: 65_000,
  maxHeaderBytes: 16 * 1024,
  checkIntervalMs: 1_000,
};

/** The HTTP server for the app, with a bound on everything a client can make it wait for. */
export function createHttpServer(app: RequestListener, limits: HttpServerLimits = DEFAULT_LIMITS): Server {
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
    },
    app,
  );
  // A client that asks before sending too much is told no without being asked to send it.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (!(Number(request.headers['content-length']) > MAX_BODY_BYTES)) response.writeContinue();
    app(request, response);
  });
  server.on('clientError', refuseUnreadable);
  return server;
}

/** What is not HTTP, or not whole in time, never reaches the app; it is answered in the API's own form. */
function refuseUnreadable(error: Error & { readonly code?: string }, socket: Socket & { readonly _httpMessage?: ServerResponse }): void {
  // As in Node's own handler: an answer that has begun must not be followed by another.
  if (!socket.writable || error.code === 'ECONNRESET' || socket._httpMessage?.headersSent) return void socket.destroy();
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuse(socket, 'request_timeout', 'The request did not arrive in time.');
  const tooLong = error.code === 'HPE_HEADER_OVERFLOW';
  refuse(socket, 'invalid_request', tooLong ? 'The address or the headers are too long.' : 'The request is not valid HTTP/1.1.');
}

function refuse(socket: Socket, code: ErrorCode, message: string): void {
  const { status } = ERRORS[code];
  const text = JSON.stringify({ error: { code, message, request_id: 'req_none' } });
  const head = `HTTP/1.1 ${status} ${code}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n`;
  socket.end(head + text);
}
