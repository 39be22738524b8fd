import { codeOf } from '../../runtime/util/code-of.ts';
/** The endpoint's host has an address that notifications must not reach. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
  readonly address: string;

  constructor(address: string, reason: string) {
    super(`forbidden address (${reason})`);
    this.address = address;
  }
}

/** The TLS handshake failed: the peer was reached, but is not who it claims to be or supports no acceptable TLS. */
export class TlsFailure extends Error {
  override readonly name = 'TlsFailure';
  /** The code of the runtime's error. Not named `code`, because the client treats some codes specially. */
  readonly reason: string;

  constructor(reason: string) {
    super(`TLS failed (${reason})`);
    this.reason = reason;
  }
}

/** Network errors below TLS, which say nothing about certificates. */
const PLAIN_NETWORK_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ETIMEDOUT',
  'EPIPE',
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
]);

/** Classifies an error of a TLS connection being opened. */
export function tlsOrNetwork(error: Error): Error {
  const code = codeOf(error) ?? 'UNKNOWN';
  return PLAIN_NETWORK_ERRORS.has(code) ? error : new TlsFailure(code);
}
