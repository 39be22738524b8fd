import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, RequestHandler } from 'express';
import { ERRORS } from '../domain/errors.ts';
import { StoreUnavailable } from '../ports/event-log/event-store.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Burnt, Nonces } from '../ports/event-log/nonces.ts';
import type { Positions } from '../ports/event-log/positions.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import type { AuthenticatedKey, Caller, KeyDirectory } from '../features/shared/merchant-api.ts';
import type { ClientAddress } from '../runtime/http/client-address.ts';
import type { AddressLimit } from './address-limit.ts';
import { UNAUTHENTICATED, type Answer, type Responder } from './answer.ts';
import { testKeyOf, type AuthenticationFault, type createAuthenticator } from './authentication.ts';
import {
  BEHIND,
  BODY_TOO_LARGE,
  CONTENT_TYPE_MISSING,
  IDEMPOTENCY_KEY_MALFORMED,
  INTERNAL_ERROR,
  MAX_BODY_BYTES,
  POSITION_MALFORMED,
  rateLimited,
  READ_ONLY,
  SERVICE_UNAVAILABLE,
} from './fixed-answers.ts';
import type { Route } from './operation.ts';
import { orderedError } from './ordered-error.ts';
import type { LoggedRequest, RequestLog } from '../features/shared/request-log.ts';
import { heldBackBy, scopeMissing, scopesOfFields } from './restrictions.ts';
import { refuseBeforeReading } from './preconditions.ts';
import { readBody } from './request-body.ts';
import { bodyOf, NOTHING, queryOf, WITHIN } from './request-input.ts';
import type { createHeaderReader, RequestHeaders } from './request-headers.ts';

export interface HttpObserver {
  /** Called after every response of the API. `operation` is one of a bounded set of names. */
  requestEnded(operation: string, method: string, status: number, durationSec: number): void;
  authenticationFailed(fault: AuthenticationFault): void;
}

export interface HttpLogger {
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

export interface EndpointTools {
  readonly authenticate: ReturnType<typeof createAuthenticator>;
  readonly readHeaders: ReturnType<typeof createHeaderReader>;
  readonly responder: Responder;
  readonly nonces: Nonces;
  readonly rateLimiter: RateLimiter;
  readonly limitAddress: AddressLimit;
  readonly keys: KeyDirectory;
  readonly clientAddress: ClientAddress;
  readonly clock: Clock;
  readonly nextRequestId: () => string;
  readonly observer: HttpObserver;
  readonly logger: HttpLogger;
  /** Why nothing can be written; null while healthy. */
  readonly readOnly: () => string | null;
  /** Null if nobody can read it. */
  readonly requestLog: RequestLog | null;
  /** Null if this is the only process. */
  readonly positions: Positions | null;
  /** Only in a sandbox. */
  readonly takesOrderedErrors: boolean;
}

/** Answers a request without a route, after the same checks. */
export type LastResort = (request: Request) => Answer;

/**
 * Handles every request to the API in the order of the threats: limit the body, refuse anything but plain JSON, verify
 * the signature over the raw bytes, burn the nonce, count against the rate limit, and only then parse the content.
 */
export function createEndpoint(tools: EndpointTools, route: Route | LastResort): RequestHandler {
  const operationId = typeof route === 'function' ? 'unmatched' : route.operation.id;
  const ridesWithCommand = typeof route !== 'function' && route.operation.nonceRidesWithCommand === true;
  const durability = ridesWithCommand ? 'with-command' : 'now';
  const { responder, observer, clock } = tools;

  return function endpoint(request, response): void {
    const startedMs = performance.now();
    const requestId = tools.nextRequestId();
    const ended = (status: number): void =>
      observer.requestEnded(operationId, request.method, status, (performance.now() - startedMs) / 1000);
    const headers = tools.readHeaders(request.rawHeaders);
    const early = refuseBeforeReading(request.method, headers, MAX_BODY_BYTES);
    if (early !== null) return ended(responder.sendAndClose(request, response, requestId, early));
    serve(request, response, requestId, headers).then(
      (status) => (status === null ? undefined : ended(status)),
      (error: unknown) => ended(crashed(request, response, requestId, error)),
    );
  };

  async function serve(
    request: Request,
    response: ServerResponse,
    requestId: string,
    headers: RequestHeaders,
  ): Promise<number | null> {
    const announced = headers.transferEncoding ? null : Number(headers.contentLength ?? 0);
    const body = await readBody(request, announced, MAX_BODY_BYTES);
    if (body.kind === 'aborted') return null;
    if (body.kind === 'too_large') return responder.sendAndClose(request, response, requestId, BODY_TOO_LARGE);

    const nowMs = clock.nowMs();
    const nowSec = toSec(nowMs);
    const exchange = { request, response, requestId, headers, operation: operationId };
    const signed = { method: request.method, target: request.originalUrl };
    const identity = tools.authenticate(signed, headers, body.bytes, nowSec);
    if (!identity.ok) return unauthenticated(tools, exchange, identity.fault);
    const { key, nonce } = identity;
    const heldBack = heldBackBy(key, identity.version, () => tools.clientAddress(request));
    // Before anything is spent: the holder of a useless key must not use up the nonces and the rate of its owner.
    if (heldBack) return unauthenticated(tools, exchange, heldBack.fault, heldBack.answer);
    const repeats = mayRepeat(request, headers);
    const burnt = await beforeCommand(tools.nonces.burn(key.keyId, nonce, nowSec, durability, repeats));
    if (!burnt.accepted) return unauthenticated(tools, exchange, 'nonce_used');
    tools.keys.used?.(key, nowSec);

    const served = { requestId, request, operation: operationId, key, atMs: nowMs };
    let settled = !ridesWithCommand;
    try {
      const rate = await beforeCommand(tools.rateLimiter.take(key.keyId, nowMs));
      const caller = callerOf(key, requestId, headers, burnt);
      const given = rate.allowed
        ? await answerTo(route, tools, request, headers, body.bytes, caller, key)
        : rateLimited(rate);
      if (!settled && (!given.ok || given.repeated === true)) {
        settled = true;
        await tools.nonces.settle(key.keyId, nonce, nowSec);
      }
      const position = tools.positions && (await tools.positions.reported());
      return answered(tools, { ...served, given }, responder.send(response, requestId, given, { rate, position }));
    } catch (error) {
      // The outcome of the command is unknown, so the nonce must not depend on it.
      if (!settled) await tools.nonces.settle(key.keyId, nonce, nowSec);
      noteCrash(tools, { ...served, given: answerToCrash(request.method, error) });
      throw error;
    }
  }

  function crashed(request: IncomingMessage, response: ServerResponse, requestId: string, error: unknown): number {
    tools.logger.error({ err: error, requestId, operation: operationId }, 'request failed');
    if (response.headersSent) {
      response.destroy();
      return 500;
    }
    return responder.send(response, requestId, answerToCrash(request.method, error));
  }
}

interface Exchange {
  readonly request: Request;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly headers: RequestHeaders;
  readonly operation: string;
}

/** Counted only after the signature has failed, so that others at the address of a guesser are still served. */
function unauthenticated(
  { observer, logger, keys, responder, limitAddress, clock, requestLog }: EndpointTools,
  { request, response, requestId, headers, operation }: Exchange,
  fault: AuthenticationFault,
  answer: Answer & { ok: false } = UNAUTHENTICATED,
): number {
  observer.authenticationFailed(fault);
  logger.debug({ requestId, fault }, 'authentication failed');
  const key = testKeyOf(keys, headers);
  const complete = key ? { ...answer, authenticationFault: fault } : answer;
  const status = responder.send(response, requestId, limitAddress(request, clock.nowMs()) ?? complete);
  if (key)
    requestLog?.note(
      loggedOf({ requestId, request, operation, key, atMs: clock.nowMs(), given: complete }, status, clock.nowMs()),
    );
  return status;
}

/** The checks after authentication, and then the operation itself. */
async function answerTo(
  route: Route | LastResort,
  { readOnly, positions, takesOrderedErrors }: Pick<EndpointTools, 'readOnly' | 'positions' | 'takesOrderedErrors'>,
  request: Request,
  headers: RequestHeaders,
  bytes: Buffer,
  caller: Caller,
  key: AuthenticatedKey,
): Promise<Answer> {
  const ordered = takesOrderedErrors ? orderedError(headers, caller.mode) : null;
  if (ordered) return ordered;
  if (typeof route === 'function') return route(request);
  const { operation } = route;
  const unscoped = operation.fieldScopes ? null : scopeMissing(key, [operation.scope]);
  if (unscoped) return unscoped;
  const refused =
    operation.method !== 'get' && readOnly() !== null ? READ_ONLY : malformedHeader(headers, bytes.length);
  if (refused) return refused;
  const body = bodyOf(operation, bytes);
  if (!body.ok) return body;
  const lacking = operation.fieldScopes ? scopeMissing(key, scopesOfFields(operation, body.value as object)) : null;
  if (lacking) return lacking;
  const query = operation.query === undefined ? NOTHING : queryOf(operation.query, request.url);
  if (!query.ok) return query;
  const behind =
    operation.readsLookUps && headers.position !== undefined ? await unlessShown(positions, headers.position) : null;
  if (behind) return behind;
  return route.handle({
    caller,
    params: request.params as Record<string, string>,
    body: body.value,
    query: query.value,
  });
}

/** Waits for what another process has already shown the caller; an older answer would be stale. */
async function unlessShown(positions: Positions | null, given: string | null): Promise<Answer | null> {
  if (given === null) return POSITION_MALFORMED;
  const found = positions ? await positions.shownUpTo(given) : 'shown';
  if (found === 'malformed') return POSITION_MALFORMED;
  return found === 'behind' ? BEHIND : null;
}

/** The store was unavailable before the command began, so retrying later is safe. */
class NothingDone extends Error {
  override readonly name = 'NothingDone';
}

/**
 * Whether repeating the request is harmless. No signature covers the idempotency key header, so it counts only for
 * operations that honour it: whoever replays a change of settings must not excuse it with a new key.
 */
const mayRepeat = ({ method }: Request, { idempotencyKey }: RequestHeaders): boolean =>
  method === 'GET' || (method === 'POST' && idempotencyKey !== undefined);

/** A read that the store could not serve is safe to repeat; the outcome of a started write is unknown. */
export function answerToCrash(method: string | undefined, error: unknown): Answer {
  return error instanceof NothingDone || (error instanceof StoreUnavailable && method === 'GET')
    ? SERVICE_UNAVAILABLE
    : INTERNAL_ERROR;
}

/** Stays synchronous where possible, because most requests are answered from this process's memory. */
function beforeCommand<Value>(answer: Value | Promise<Value>): Value | Promise<Value> {
  return answer instanceof Promise ? answer.catch(asNothingDone) : answer;
}

function asNothingDone(error: unknown): never {
  throw error instanceof StoreUnavailable ? new NothingDone(error.message, { cause: error }) : error;
}

/** A request with a known key, and its answer. */
interface Served {
  readonly requestId: string;
  readonly request: Request;
  readonly operation: string;
  readonly key: AuthenticatedKey;
  readonly atMs: number;
  readonly given: Answer;
}

function answered({ logger, requestLog, clock }: EndpointTools, served: Served, status: number): number {
  const { requestId, operation, key, request } = served;
  logger.debug({ requestId, operation, status, merchant: key.merchantId, id: request.params.id }, 'request answered');
  requestLog?.note(loggedOf(served, status, clock.nowMs()));
  return status;
}

function noteCrash({ requestLog, clock }: EndpointTools, served: Served): void {
  if (!served.given.ok) requestLog?.note(loggedOf(served, ERRORS[served.given.refusal.code].status, clock.nowMs()));
}

function loggedOf(
  { requestId, request, operation, key, atMs, given }: Served,
  status: number,
  nowMs: number,
): LoggedRequest {
  const { merchantId, mode, keyId } = key;
  const refusal = given.ok ? null : given.refusal;
  return {
    ...{ requestId, merchantId, mode, keyId, atMs, durationMs: Math.max(0, nowMs - atMs) },
    ...{ method: request.method, target: withoutMetadata(request.originalUrl), operation, status },
    ...{ errorCode: refusal?.code ?? null, param: refusal?.param ?? null },
    authenticationFault: given.ok ? null : (given.authenticationFault ?? null),
  };
}

/**
 * The log outlives an erasure. Searched metadata is personal data, so only its keys are logged, in whatever notation
 * they came.
 */
function withoutMetadata(target: string): string {
  const mark = target.indexOf('?');
  if (mark < 0) return target;
  const logged = (parameter: string): string => {
    const [name = ''] = new URLSearchParams(parameter).keys();
    if (!/metadata/i.test(name)) return parameter;
    const [, , key] = WITHIN.exec(name) ?? [];
    return `metadata${key === undefined ? '' : `[${encodeURIComponent(key.toWellFormed())}]`}=[redacted]`;
  };
  return `${target.slice(0, mark)}?${target
    .slice(mark + 1)
    .split('&')
    .map(logged)
    .join('&')}`;
}

function malformedHeader({ contentType, idempotencyKey }: RequestHeaders, bodyBytes: number): Answer | null {
  if (bodyBytes > 0 && contentType === undefined) return CONTENT_TYPE_MISSING;
  return idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey) ? IDEMPOTENCY_KEY_MALFORMED : null;
}

const isIdempotencyKey = (value: string | null): boolean =>
  value !== null && /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(value);
const TRACE_PARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

function callerOf(
  key: AuthenticatedKey,
  requestId: string,
  headers: RequestHeaders,
  { coCommit, mayBeReplay }: Burnt,
): Caller {
  const { traceParent, idempotencyKey } = headers;
  return {
    merchantId: key.merchantId,
    mode: key.mode,
    requestId,
    ...(coCommit === undefined ? undefined : { nonceCoCommit: coCommit }),
    ...(mayBeReplay === true ? { mayBeReplay } : undefined),
    ...(typeof idempotencyKey === 'string' ? { idempotencyKey } : undefined),
    ...(typeof traceParent === 'string' && TRACE_PARENT.test(traceParent) ? { traceParent } : undefined),
  };
}
