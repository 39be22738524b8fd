import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';
import { HSTS, createResponder } from './answer.ts';
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
  /** For a connection on which nothing moves, such as a client that does not read its answer. */
  readonly inactivityTimeoutMs: number;
  /** Further ones are closed at once. */
  readonly maxConnections: number;
}

export const DEFAULT_LIMITS: HttpServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  keepAliveTimeoutMs: 65_000,
  maxHeaderBytes: 16 * 1024,
  checkIntervalMs: 1_000,
  inactivityTimeoutMs: 120_000,
  maxConnections: 25_000,
};

export interface HttpServerOptions {
  readonly limits?: HttpServerLimits;
  /** Clients reach the service over https. */
  readonly secure?: boolean;
  /** Why a request is refused for where it comes from; null for one that is not. Absent: none is. */
  readonly foreign?: (request: IncomingMessage) => string | null;
}

/** The HTTP server for the app, with a bound on everything a client can make it wait for. */
export function createHttpServer(
  app: RequestListener,
  logger: Pick<HttpLogger, 'debug'>,
  options: HttpServerOptions = {},
): Server {
  const { limits = DEFAULT_LIMITS, secure = false } = options;
  const nextRequestId = createRequestIds();
  const responder = createResponder({ secure });
  const serve: RequestListener = (request, response) => {
    const fault =
      request.headers.host === undefined && request.httpVersion === '1.1'
        ? 'Host is missing.'
        : (options.foreign?.(request) ?? null);
    if (fault === null) return app(request, response);
    responder.sendAndClose(request, response, nextRequestId(), {
      ok: false,
      refusal: { code: 'invalid_request', message: fault },
    });
  };
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      // Node's own refusal would be in another form and without our headers.
      requireHostHeader: false,
    },
    serve,
  );
  server.maxConnections = limits.maxConnections;
  server.timeout = limits.inactivityTimeoutMs;
  // A client that asks before sending too much is told no without being asked to send it.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (!(Number(request.headers['content-length']) > MAX_BODY_BYTES)) response.writeContinue();
    serve(request, response);
  });
  // Left to Node, an expectation that nobody knows would get an answer without any of our headers.
  server.on('checkExpectation', serve);
  const refused = new WeakSet<Socket>();
  server.on('clientError', (error: Error & { readonly code?: string }, socket: AnsweringSocket) => {
    // What a refused client still sends is no more readable than before.
    if (refused.has(socket)) return;
    const refusal = refusalOf(error, socket);
    if (refusal === null) return void socket.destroy();
    const requestId = nextRequestId();
    logger.debug({ requestId, ...refusal }, 'an unreadable request was refused');
    refused.add(socket);
    refuse(socket, requestId, refusal, secure);
  });
  return server;
}

type AnsweringSocket = Socket & { readonly _httpMessage?: ServerResponse };

interface UnreadableRefusal {
  readonly code: ErrorCode;
  readonly message: string;
}

/**
 * What is not HTTP, or not whole in time, never reaches the app; it is answered in the API's own form, or not at all.
 */
function refusalOf(error: Error & { readonly code?: string }, socket: AnsweringSocket): UnreadableRefusal | null {
  // As in Node's own handler: an answer that has begun must not be followed by another.
  if (!socket.writable || error.code === 'ECONNRESET' || socket._httpMessage?.headersSent) return null;
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { code: 'request_timeout', message: 'The request did not arrive in time.' };
  const tooLong = error.code === 'HPE_HEADER_OVERFLOW';
  return {
    code: 'invalid_request',
    message: tooLong ? 'The address or the headers are too long.' : 'The request is not valid HTTP/1.1.',
  };
}

/** How long the client may take to read why, before the connection ends whether it did or not. */
const LINGER_MS = 2_000;

function refuse(socket: Socket, requestId: string, { code, message }: UnreadableRefusal, secure: boolean): void {
  const { status } = ERRORS[code];
  const text = JSON.stringify({ error: { code, message, request_id: requestId } });
  const headers = [
    `HTTP/1.1 ${status} ${code}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${text.length}`,
    `X-Request-Id: ${requestId}`,
    ...(secure ? [HSTS.join(': ')] : []),
    'Connection: close',
  ];
  socket.end(`${headers.join('\r\n')}\r\n\r\n${text}`);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  // Our end alone is half a close, which a client that never closes its own would keep forever. Who stalled is not
  // waited for, and must not finish a request that was answered; who is still sending has a moment to stop, since bytes
  // left unread would reset the connection.
  if (code === 'request_timeout') socket.destroySoon();
  else socket.once('end', () => socket.destroySoon());
}
