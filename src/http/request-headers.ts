import { must } from '../domain/values/must.ts';
import { keysOf } from '../domain/values/keys-of.ts';

/** Headers of a signed request, after the configurable prefix (specification, "Authentication"). */
const SIGNED_NAMES = {
  timestamp: 'Timestamp',
  nonce: 'Nonce',
  signature: 'Signature',
  signatureVersion: 'Signature-Version',
} as const;

const PLAIN_NAMES = {
  authorization: 'authorization',
  contentType: 'content-type',
  contentLength: 'content-length',
  contentEncoding: 'content-encoding',
  transferEncoding: 'transfer-encoding',
  idempotencyKey: 'idempotency-key',
  position: 'quittance-position',
  traceParent: 'traceparent',
  orderedError: 'quittance-sandbox-error',
} as const;

type Field = keyof typeof PLAIN_NAMES | keyof typeof SIGNED_NAMES;

/** The headers that this service reads; undefined if absent, null if sent more than once. */
export type RequestHeaders = { [Name in Field]: string | null | undefined };

/**
 * Reads the raw list, because Node joins repeated custom headers and silently keeps the first `Authorization` and
 * `Content-Type`: everything that was sent must be checked.
 */
export function createHeaderReader(prefix: string): (rawHeaders: readonly string[]) => RequestHeaders {
  const fields = new Map<string, Field>();
  for (const field of keysOf(PLAIN_NAMES)) fields.set(PLAIN_NAMES[field], field);
  for (const field of keysOf(SIGNED_NAMES)) fields.set((prefix + SIGNED_NAMES[field]).toLowerCase(), field);

  return function readHeaders(rawHeaders) {
    const found: RequestHeaders = {
      authorization: undefined,
      contentType: undefined,
      contentLength: undefined,
      contentEncoding: undefined,
      transferEncoding: undefined,
      idempotencyKey: undefined,
      position: undefined,
      traceParent: undefined,
      orderedError: undefined,
      timestamp: undefined,
      nonce: undefined,
      signature: undefined,
      signatureVersion: undefined,
    };
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const field = fields.get(must(rawHeaders[i]).toLowerCase());
      if (field !== undefined) found[field] = found[field] === undefined ? rawHeaders[i + 1] : null;
    }
    return found;
  };
}
