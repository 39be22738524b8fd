import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';
import { HSTS, createResponder } from './answer.ts';
import { type HttpLogger } from './endpoint.ts';
import { MAX_BODY_BYTES } from './fixed-answers.ts';
import { createRequestIds } from './request-id.ts';

export interface HttpServerLimits {
  readonly headersTimeoutMs: number;
  /** Time limit for receiving a whole request, including its body. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxHeaderBytes: number;
  /** How often requests are checked against the two timeouts. */
  readonly checkIntervalMs: number;
  /** For an idle connection, such as a client that does not read its response. */
  readonly inactivityTimeoutMs: number;
  /** Further connections are closed at once. */
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
  /** Why a request is refused because of its origin; null if it is not. Absent: none is. */
  readonly foreign?: (request: IncomingMessage) => string | null;
}

/** The HTTP server for the app, with a limit on everything that a client can make it wait for. */
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
      // Node's own refusal would have another form and lack our headers.
      requireHostHeader: false,
    },
    serve,
  );
  server.maxConnections = limits.maxConnections;
  server.timeout = limits.inactivityTimeoutMs;
  // A client that asks before sending a large body is refused without having to send it.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (!(Number(request.headers['content-length']) > MAX_BODY_BYTES)) response.writeContinue();
    serve(request, response);
  });
  // Node would answer an unknown expectation without any of our headers.
  server.on('checkExpectation', serve);
  const refused = new WeakSet<Socket>();
  server.on('clientError', (error: Error & { readonly code?: string }, socket: AnsweringSocket) => {
    // Whatever a refused client still sends is just as unreadable.
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
 * Requests that are not HTTP, or not complete in time, never reach the app. They are answered in the API's own form, or
 * not at all.
 */
function refusalOf(error: Error & { readonly code?: string }, socket: AnsweringSocket): UnreadableRefusal | null {
  // As in Node's own handler: a started response must not be followed by another.
  if (!socket.writable || error.code === 'ECONNRESET' || socket._httpMessage?.headersSent) return null;
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { code: 'request_timeout', message: 'The request did not arrive in time.' };
  const tooLong = error.code === 'HPE_HEADER_OVERFLOW';
  return {
    code: 'invalid_request',
    message: tooLong ? 'The address or the headers are too long.' : 'The request is not valid HTTP/1.1.',
  };
}

/** How long the client may take to read the refusal before the connection ends. */
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
  // Only closing our end would leave the connection half open for as long as the client wants. A stalled client is
  // closed at once, because it must not complete an answered request. One that is still sending gets a moment to stop,
  // because unread bytes would reset the connection.
  if (code === 'request_timeout') socket.destroySoon();
  else socket.once('end', () => socket.destroySoon());
}
