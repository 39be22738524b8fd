import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';
import { refuse, type Refusal } from '../domain/values/result.ts';
import type { RateDecision } from '../ports/rate-limiter.ts';
import { errorUrl } from './error-url.ts';
import { drainThen } from './request-body.ts';

/** A handler's result: the body of a 200, or a refusal. `repeated` as in `Outcome`. */
export type Answer =
  | { readonly ok: true; readonly body: object; readonly repeated?: boolean }
  | { readonly ok: true; readonly file: AnswerFile; readonly repeated?: false }
  | {
      readonly ok: false;
      readonly refusal: Refusal;
      readonly retryAfterSec?: number;
      readonly allow?: readonly string[];
      readonly authenticationFault?: string;
    };

/** A response that is not JSON, and may be too long for memory. */
export interface AnswerFile {
  /** One of `Operation.files`. */
  readonly contentType: string;
  readonly name: string;
  readonly chunks: AsyncIterable<string> | Iterable<string>;
}

export const answer = (body: object): Answer => ({ ok: true, body });
export const NOT_FOUND: Answer = refuse('not_found', 'No such resource.');

const AUTHENTICATION_FAILED: Refusal = { code: 'authentication_failed', message: 'Authentication failed.' };
export const UNAUTHENTICATED: Answer & { ok: false } = { ok: false, refusal: AUTHENTICATION_FAILED };

/** Seconds that a client should wait if the refusal names no time. */
const DEFAULT_RETRY_AFTER_SEC = 5;

const JSON_TYPE = 'application/json; charset=utf-8';
const SECURITY_HEADERS: readonly string[] = [
  'Content-Type',
  JSON_TYPE,
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
];
export const HSTS: readonly string[] = ['Strict-Transport-Security', 'max-age=31536000'];

export const POSITION_HEADER = 'Quittance-Position';
/** The check that a 401 failed on; only for test-mode keys. */
const FAULT_HEADER = 'Quittance-Authentication-Fault';

export interface AnswerHeaders {
  /** Adds the `RateLimit-*` headers. */
  readonly rate: RateDecision;
  /** See `Positions`; null if there is none. */
  readonly position: string | null;
}

export interface Responder {
  /** Sends the response with one write. Returns the HTTP status. */
  send(response: ServerResponse, requestId: string, given: Answer, more?: AnswerHeaders): number;
  /**
   * Responds while the client may still be sending, and closes the connection once it has stopped. Returns the HTTP
   * status.
   */
  sendAndClose(request: IncomingMessage, response: ServerResponse, requestId: string, given: Answer): number;
}

export function createResponder(options: { readonly secure: boolean; readonly publicUrl?: string }): Responder {
  const { publicUrl } = options;
  const docUrl = (code: ErrorCode): string | undefined =>
    publicUrl === undefined ? undefined : errorUrl(publicUrl, code);
  const fixed = options.secure ? [...SECURITY_HEADERS, ...HSTS] : SECURITY_HEADERS;

  function send(response: ServerResponse, requestId: string, given: Answer, more?: AnswerHeaders): number {
    const { status, text, encoding, headers } =
      'file' in given ? prepareFile(fixed, requestId, given.file) : prepare(fixed, requestId, given, docUrl);
    if (more !== undefined) {
      const { limit, remaining, resetSec } = more.rate;
      headers.push(
        'RateLimit-Limit',
        String(limit),
        'RateLimit-Remaining',
        String(remaining),
        'RateLimit-Reset',
        String(resetSec),
      );
      if (more.position !== null) headers.push(POSITION_HEADER, more.position);
    }
    response.writeHead(status, headers);
    // A file that fails midway ends the connection, so that the reader does not take it for complete.
    if ('file' in given) pipeline(Readable.from(given.file.chunks), response, () => undefined);
    else response.end(text, encoding);
    return status;
  }

  function sendAndClose(request: IncomingMessage, response: ServerResponse, requestId: string, given: Answer): number {
    if ('file' in given) throw new Error('files are only returned for complete requests');
    const { status, text, headers } = prepare(fixed, requestId, given, docUrl);
    headers.push('Connection', 'close');
    response.writeHead(status, headers);
    response.write(text);
    drainThen(request, () => response.end());
    return status;
  }

  return { send, sendAndClose };
}

interface Prepared {
  readonly status: number;
  readonly text: string;
  readonly encoding: 'latin1' | 'utf8';
  readonly headers: string[];
}

type DocUrl = (code: ErrorCode) => string | undefined;

function prepareFile(fixed: readonly string[], requestId: string, { contentType, name }: AnswerFile): Prepared {
  const headers = fixed.map((text) => (text === JSON_TYPE ? contentType : text));
  return {
    status: 200,
    text: '',
    encoding: 'utf8',
    headers: [...headers, 'Content-Disposition', `attachment; filename="${name}"`, 'X-Request-Id', requestId],
  };
}

function prepare(
  fixed: readonly string[],
  requestId: string,
  given: Exclude<Answer, { readonly file: AnswerFile }>,
  docUrl: DocUrl,
): Prepared {
  const status = given.ok ? 200 : ERRORS[given.refusal.code].status;
  const text = JSON.stringify(given.ok ? given.body : errorBody(given.refusal, requestId, docUrl));
  const length = Buffer.byteLength(text);
  const headers = [...fixed, 'Content-Length', String(length), 'X-Request-Id', requestId];
  if (!given.ok) addErrorHeaders(headers, status, given);
  // Plain ASCII has the same bytes in both, and latin1 is cheaper to write.
  return { status, text, encoding: length === text.length ? 'latin1' : 'utf8', headers };
}

function addErrorHeaders(headers: string[], status: number, given: Answer & { ok: false }): void {
  if (status === 401) headers.push('WWW-Authenticate', 'Bearer');
  if (given.authenticationFault !== undefined) headers.push(FAULT_HEADER, given.authenticationFault);
  if (given.allow !== undefined) headers.push('Allow', given.allow.join(', '));
  if (status === 429 || status === 503)
    headers.push('Retry-After', String(given.retryAfterSec ?? DEFAULT_RETRY_AFTER_SEC));
}

/** Undefined fields are omitted. */
function errorBody({ code, message, param }: Refusal, requestId: string, docUrl: DocUrl): object {
  return { error: { code, message, param, request_id: requestId, doc_url: docUrl(code) } };
}
