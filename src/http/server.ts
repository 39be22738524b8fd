import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';
import { MAX_BODY_BYTES, type HttpLogger } from './endpoint.ts';
import { createRequestIds } from './request-id.ts';

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
export function createHttpServer(app: RequestListener, logger: Pick<HttpLogger, 'debug'>, limits: HttpServerLimits = DEFAULT_LIMITS): Server {
  const nextRequestId = createRequestIds();
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
  server.on('clientError', (error: Error & { readonly code?: string }, socket: AnsweringSocket) => {
    const refusal = refusalOf(error, socket);
    if (refusal === null) return void socket.destroy();
    const requestId = nextRequestId();
    logger.debug({ requestId, ...refusal }, 'an unreadable request was refused');
    refuse(socket, requestId, refusal);
  });
  return server;
}

type AnsweringSocket = Socket & { readonly _httpMessage?: ServerResponse };

interface UnreadableRefusal {
  readonly code: ErrorCode;
  readonly message: string;
}

/** What is not HTTP, or not whole in time, never reaches the app; it is answered in the API's own form, or not at all. */
function refusalOf(error: Error & { readonly code?: string }, socket: AnsweringSocket): UnreadableRefusal | null {
  // As in Node's own handler: an answer that has begun must not be followed by another.
  if (!socket.writable || error.code === 'ECONNRESET' || socket._httpMessage?.headersSent) return null;
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return { code: 'request_timeout', message: 'The request did not arrive in time.' };
  const tooLong = error.code === 'HPE_HEADER_OVERFLOW';
  return { code: 'invalid_request', message: tooLong ? 'The address or the headers are too long.' : 'The request is not valid HTTP/1.1.' };
}

function refuse(socket: Socket, requestId: string, { code, message }: UnreadableRefusal): void {
  const { status } = ERRORS[code];
  const text = JSON.stringify({ error: { code, message, request_id: requestId } });
  const headers = [
    `HTTP/1.1 ${status} ${code}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${text.length}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${headers.join('\r\n')}\r\n\r\n${text}`);
}
