import { IncomingMessage, ServerResponse, createServer, type Server } from 'node:http';
import type { Express } from 'express';
import { MAX_BODY_BYTES } from './endpoint.ts';

export interface HttpServerLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxHeaderBytes: number;
}

export const DEFAULT_LIMITS: HttpServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  maxHeaderBytes: 16 * 1024,
};

/**
 * The HTTP server for an express app. Requests and responses are born with the prototypes that express would otherwise
 * swap in for each of them, which is the largest part of what express costs.
 */
export function createHttpServer(app: Express, limits: HttpServerLimits = DEFAULT_LIMITS): Server {
  const server = createServer(
    {
      IncomingMessage: bornAs(IncomingMessage, app.request),
      ServerResponse: bornAs(ServerResponse, app.response),
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: 2_000,
      noDelay: true,
    },
    app,
  );
  // A client that asks before sending too much is told no without being asked to send it.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (!(Number(request.headers['content-length']) > MAX_BODY_BYTES)) response.writeContinue();
    app(request as Parameters<Express>[0], response as Parameters<Express>[1]);
  });
  return server;
}

/** The class with another prototype for its instances; Node's two classes are plain constructor functions. */
function bornAs<Base extends typeof IncomingMessage | typeof ServerResponse>(base: Base, prototype: object): Base {
  function Born(this: object, ...values: unknown[]): void {
    Reflect.apply(base as unknown as (...values: unknown[]) => void, this, values);
  }
  Born.prototype = prototype;
  return Born as unknown as Base;
}
