import type * as wire from './wire.ts';

export type ApiErrorCode = wire.Error['error']['code'];

/** Base class of all errors that this client throws. */
export class QuittanceError extends Error {
  override readonly name: string = 'QuittanceError';
}

/** No response arrived: the network failed or the request timed out. The request may or may not have taken effect. */
export class ConnectionError extends QuittanceError {
  override readonly name = 'ConnectionError';
}

/** The service returned an error. `code` is stable; `message` is for people and may change. */
export class ApiError extends QuittanceError {
  override readonly name: string = 'ApiError';
  readonly status: number;
  /** A code from `docs/errors.md`, or `unknown` when something else answered, such as a proxy. */
  readonly code: ApiErrorCode | 'unknown';
  /** The field, header or query parameter at fault. */
  readonly param: string | undefined;
  /** Quote this id when you contact support. */
  readonly requestId: string | undefined;
  /** The page that explains the code and what to do about it. */
  readonly docUrl: string | undefined;
  /** For a 401 with a test-mode key: the check that failed, such as `timestamp` or `signature`. */
  readonly authenticationFault: string | undefined;
  /** Seconds to wait before the next try, if the service named a time. */
  readonly retryAfterSec: number | undefined;

  constructor(facts: ApiErrorFacts) {
    super(facts.message);
    this.status = facts.status;
    this.code = facts.code;
    this.param = facts.param;
    this.requestId = facts.requestId;
    this.docUrl = facts.docUrl;
    this.authenticationFault = facts.authenticationFault;
    this.retryAfterSec = facts.retryAfterSec;
  }
}

export interface ApiErrorFacts {
  readonly status: number;
  readonly code: ApiErrorCode | 'unknown';
  readonly message: string;
  readonly param: string | undefined;
  readonly requestId: string | undefined;
  readonly docUrl: string | undefined;
  readonly authenticationFault: string | undefined;
  readonly retryAfterSec: number | undefined;
}

/** 400, 413 or 415: the request is invalid. `param` names the part at fault. */
export class InvalidRequestError extends ApiError {
  override readonly name = 'InvalidRequestError';
}

/** 401: the key, the secret or the clock is wrong. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError';
}

/** 404: the resource does not exist, or it is not yours. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}

/** 409: the order id or idempotency key was used for another request, or two requests collided. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError';
}

/** 429, after all retries. */
export class RateLimitedError extends ApiError {
  override readonly name = 'RateLimitedError';
}

/** 5xx, after all retries. */
export class ServiceError extends ApiError {
  override readonly name = 'ServiceError';
}

/** Builds the error for a response that is not a success. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  const told = errorBodyIn(text);
  const retryAfter = response.headers.get('retry-after');
  return new (classOf(response.status))({
    status: response.status,
    code: told?.code ?? 'unknown',
    message: told?.message ?? `HTTP ${response.status}`,
    param: told?.param,
    requestId: told?.request_id ?? response.headers.get('x-request-id') ?? undefined,
    docUrl: told?.doc_url,
    authenticationFault: response.headers.get('quittance-authentication-fault') ?? undefined,
    retryAfterSec: retryAfter !== null && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined,
  });
}

function errorBodyIn(text: string): wire.Error['error'] | undefined {
  try {
    const { error } = JSON.parse(text) as wire.Error;
    return typeof error?.code === 'string' && typeof error.message === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

function classOf(status: number): new (facts: ApiErrorFacts) => ApiError {
  if (status === 401) return AuthenticationError;
  if (status === 404) return NotFoundError;
  if (status === 409) return ConflictError;
  if (status === 429) return RateLimitedError;
  if (status >= 500) return ServiceError;
  return status === 400 || status === 413 || status === 415 ? InvalidRequestError : ApiError;
}
