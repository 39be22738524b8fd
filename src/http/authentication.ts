import { createHmac, createSecretKey, hash, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { SignatureVersion } from '../domain/api-keys.ts';
import type { AuthenticatedKey, KeyDirectory } from '../features/shared/merchant-api.ts';
import type { RequestHeaders } from './request-headers.ts';

/** Allowed difference of the client's clock in either direction, inclusive (specification, "Limits"). */
const TIMESTAMP_TOLERANCE_SEC = 300;

/** Why authentication failed; for logs and metrics, and for holders of a test-mode key. */
export type AuthenticationFault =
  | 'header_missing'
  | 'header_malformed'
  | 'timestamp'
  | 'unknown_key'
  | 'signature'
  | 'nonce_used'
  | 'signature_version'
  | 'address';

export type Authentication =
  | { readonly ok: true; readonly key: AuthenticatedKey; readonly nonce: string; readonly version: SignatureVersion }
  | { readonly ok: false; readonly fault: AuthenticationFault };

/** What a version 2 signature covers in addition to the body. */
export interface SignedRequest {
  readonly method: string;
  /** Path and query from the request line. */
  readonly target: string;
}

const BEARER = /^Bearer ([\x21-\x7e]{8,256})$/i;
const TIMESTAMP = /^[1-9]\d{0,11}$/;
// A dot would make `timestamp.nonce.body` ambiguous.
const NONCE = /^[\x20-\x2d\x2f-\x7e]{1,128}$/;
const SIGNATURE = /^[0-9a-f]{64}$/i;

/**
 * The test-mode key of the request, or null. Its holder may learn which check failed; for live and unknown keys every
 * failure looks the same.
 */
export function testKeyOf(keys: KeyDirectory, { authorization }: RequestHeaders): AuthenticatedKey | null {
  const apiKey = authorization ? BEARER.exec(authorization)?.[1] : undefined;
  const key = apiKey === undefined ? null : keys.find(hash('sha256', apiKey));
  return key?.mode === 'test' ? key : null;
}

const failed = (fault: AuthenticationFault): Authentication => ({ ok: false, fault });

/**
 * Checks key, timestamp and signature of a request over its raw body bytes. The nonce is only read: it is burned after
 * the check succeeds, so that nobody without the secret can fill the nonce store.
 */
export function createAuthenticator(keys: KeyDirectory) {
  // An unknown key costs the same HMAC as a known one, so that timing does not reveal which keys exist.
  const nobody = createSecretKey(randomBytes(32));

  return function authenticate(
    request: SignedRequest,
    headers: RequestHeaders,
    body: Buffer,
    nowSec: number,
  ): Authentication {
    const { authorization, timestamp, nonce, signature } = headers;
    if (!authorization || !timestamp || !nonce || !signature) return failed('header_missing');
    const apiKey = BEARER.exec(authorization)?.[1];
    if (apiKey === undefined || !TIMESTAMP.test(timestamp) || !NONCE.test(nonce) || !SIGNATURE.test(signature))
      return failed('header_malformed');
    if (Math.abs(nowSec - Number(timestamp)) > TIMESTAMP_TOLERANCE_SEC) return failed('timestamp');
    const key = keys.find(hash('sha256', apiKey));
    const version = headers.signatureVersion === '2' ? 2 : 1;
    const matches = signatureMatches(
      key?.secret ?? nobody,
      signedPrefix(version, timestamp, nonce, request),
      body,
      signature,
    );
    if (key === null) return failed('unknown_key');
    return matches ? { ok: true, key, nonce, version } : failed('signature');
  };
}

/**
 * The signed bytes before the body. The versions cannot be confused, because the first begins with a digit; no line of
 * the second can contain a line break.
 */
function signedPrefix(
  version: SignatureVersion,
  timestamp: string,
  nonce: string,
  { method, target }: SignedRequest,
): string {
  return version === 1 ? `${timestamp}.${nonce}.` : `v2\n${timestamp}\n${nonce}\n${method}\n${target}\n`;
}

function signatureMatches(secret: KeyObject, prefix: string, body: Buffer, signature: string): boolean {
  const expected = createHmac('sha256', secret).update(prefix).update(body).digest();
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'));
}
