import { ApiError, ConnectionError, errorOf } from './errors.ts';
import { sign, signRequest } from './signing.ts';

export interface TransportOptions {
  /** Base URL of the service, such as `https://pay.example`. */
  readonly baseUrl: string;
  /** `sk_test_...` or `sk_live_...`. */
  readonly apiKey: string;
  readonly apiSecret: string;
  /** Prefix of the signature headers; must match the service's setting (default `X-Service-`). */
  readonly headerPrefix?: string;
  /**
   * 2 (default) also signs method, path and query. Use 1 for services that do not support 2, or behind a proxy that
   * rewrites the path.
   */
  readonly signatureVersion?: 1 | 2;
  /** Timeout of each attempt, including the response body (default 30 s). */
  readonly timeoutMs?: number;
  /** Number of retries after the first attempt (default 3). */
  readonly maxRetries?: number;
  /** Default: the runtime's own `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export interface CallSettings {
  /** Generated when absent. Pass your own to keep retries safe across restarts of your program. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export type QueryValue = string | number | Readonly<Record<string, string>> | undefined;

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly body?: unknown;
}

export type Send = <Answer>(request: ApiRequest, options?: CallSettings) => Promise<Answer>;

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 3;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_SEC = 60;
/**
 * Response header: the event log position behind the response. Sent back with later requests, so that another node
 * never returns older data.
 */
const POSITION = 'Quittance-Position';
const RETRYABLE: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Signs, sends and retries requests. Each attempt has a new timestamp and nonce; all attempts of a POST share one
 * idempotency key.
 */
export function createTransport(options: TransportOptions): Send {
  const {
    apiKey,
    apiSecret,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    maxRetries = DEFAULT_RETRIES,
    headerPrefix = 'X-Service-',
    signatureVersion = 2,
  } = options;
  for (const [name, value] of Object.entries({ apiKey, apiSecret }))
    if (typeof value !== 'string' || value.trim() === '') throw new TypeError(`${name} is missing or empty`);
  const fetchUrl = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  /** The furthest position seen in a response; undefined as long as the service sends none. */
  let position: string | undefined;

  async function attempt(
    request: ApiRequest,
    body: string,
    idempotencyKey: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const nonce = crypto.randomUUID();
    const url = new URL(baseUrl + request.path + queryText(request.query));
    const parts = { timestamp, nonce, method: request.method, target: url.pathname + url.search, body };
    const headers: Record<string, string> = {
      Accept: 'application/json, text/*',
      Authorization: `Bearer ${apiKey}`,
      [`${headerPrefix}Timestamp`]: timestamp,
      [`${headerPrefix}Nonce`]: nonce,
      [`${headerPrefix}Signature`]: await (signatureVersion === 2
        ? signRequest(apiSecret, parts)
        : sign(apiSecret, timestamp, nonce, body)),
      ...(signatureVersion === 2 ? { [`${headerPrefix}Signature-Version`]: '2' } : undefined),
      ...(request.method === 'GET' ? undefined : { 'Content-Type': 'application/json' }),
      ...(idempotencyKey === undefined ? undefined : { 'Idempotency-Key': idempotencyKey }),
      ...(request.method === 'GET' && position !== undefined ? { [POSITION]: position } : undefined),
    };
    const timeout = AbortSignal.timeout(timeoutMs);
    const init: RequestInit = {
      method: request.method,
      headers,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    };
    const response = await fetchUrl(url.href, body === '' ? init : { ...init, body });
    const reached = response.headers.get(POSITION);
    if (reached !== null && isAfter(reached, position)) position = reached;
    return response;
  }

  return async function send<Answer>(request: ApiRequest, call: CallSettings = {}): Promise<Answer> {
    const body = request.body === undefined ? '' : JSON.stringify(request.body);
    const idempotencyKey = request.method === 'POST' ? (call.idempotencyKey ?? crypto.randomUUID()) : undefined;
    for (let tries = 0; ; tries += 1) {
      call.signal?.throwIfAborted();
      const failure = await outcomeOf<Answer>(attempt(request, body, idempotencyKey, call.signal));
      if (failure.ok) return failure.answer;
      call.signal?.throwIfAborted();
      if (tries >= maxRetries || !isWorthRetrying(failure.error)) throw failure.error;
      await pause(waitMs(tries, failure.error), call.signal);
    }
  };
}

/** Compares positions by the numbers in them, from left to right. */
function isAfter(one: string, other: string | undefined): boolean {
  const numbers = (text: string): bigint[] => (text.match(/\d+/g) ?? []).map(BigInt);
  if (other === undefined) return true;
  const others = numbers(other);
  for (const [index, number] of numbers(one).entries()) {
    const beside = others[index] ?? 0n;
    if (number !== beside) return number > beside;
  }
  return false;
}

type OutcomeOf<Answer> =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly error: ApiError | ConnectionError };

async function outcomeOf<Answer>(sent: Promise<Response>): Promise<OutcomeOf<Answer>> {
  try {
    const response = await sent;
    if (!response.ok) return { ok: false, error: await errorOf(response) };
    const isJson = response.headers.get('content-type')?.startsWith('application/json') !== false;
    return { ok: true, answer: (await (isJson ? response.json() : response.text())) as Answer };
  } catch (cause) {
    return { ok: false, error: new ConnectionError(cause instanceof Error ? cause.message : String(cause), { cause }) };
  }
}

function isWorthRetrying(error: ApiError | ConnectionError): boolean {
  return !(error instanceof ApiError) || RETRYABLE.has(error.status) || error.code === 'conflict';
}

/**
 * Exponential backoff from 250 ms with jitter, so that many clients do not retry at once; never before the time that
 * the service named.
 */
function waitMs(tries: number, error: ApiError | ConnectionError): number {
  const own = FIRST_WAIT_MS * 2 ** tries * (0.75 + Math.random() / 2);
  const told = error instanceof ApiError ? Math.min(error.retryAfterSec ?? 0, LONGEST_WAIT_SEC) * 1000 : 0;
  return Math.max(own, told);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

function queryText(query: ApiRequest['query']): string {
  const set = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (typeof value === 'object') for (const [key, text] of Object.entries(value)) set.append(`${name}[${key}]`, text);
    else if (value !== undefined) set.append(name, String(value));
  }
  return set.size === 0 ? '' : `?${set.toString()}`;
}
