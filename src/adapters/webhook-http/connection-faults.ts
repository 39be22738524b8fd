import { codeOf } from '../../runtime/util/code-of.ts';
/** An address of the endpoint's host is one that no notification may reach. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
  readonly address: string;

  constructor(address: string, reason: string) {
    super(`forbidden address (${reason})`);
    this.address = address;
  }
}

/** The TLS handshake failed: the other side was reached, but is not who it claims to be or speaks no acceptable TLS. */
export class TlsFailure extends Error {
  override readonly name = 'TlsFailure';
  /** The code of the runtime's error; not called `code`, since the client treats some codes in ways of its own. */
  readonly reason: string;

  constructor(reason: string) {
    super(`TLS failed (${reason})`);
    this.reason = reason;
  }
}

/** Errors of the network below TLS: they say nothing about certificates. */
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

/** What an error of a TLS connection that is being opened means. */
export function tlsOrNetwork(error: Error): Error {
  const code = codeOf(error) ?? 'UNKNOWN';
  return PLAIN_NETWORK_ERRORS.has(code) ? error : new TlsFailure(code);
}
