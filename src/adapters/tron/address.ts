import { base58Check, base58Checksum, fromBase58 } from '../../chain-formats/base58.ts';

/** First byte of every TRON address on every TRON network. */
const PREFIX = 0x41;
const BASE58_FORM = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;

/** The base58check form (`T...`) of a 20-byte account id in hex. */
export function toBase58Address(accountHex: string): string {
  const payload = Buffer.concat([Buffer.of(PREFIX), Buffer.from(accountHex, 'hex')]);
  if (payload.length !== 21) throw new RangeError(`an account id has 20 bytes, not ${payload.length - 1}`);
  return base58Check(payload);
}

/** The 20-byte account id (40 hex digits, lower case) of a base58check address; null if form or checksum is wrong. */
export function accountOfBase58(address: string): string | null {
  const bytes = BASE58_FORM.test(address) ? fromBase58(address) : null;
  if (bytes?.length !== 25 || bytes[0] !== PREFIX) return null;
  const payload = bytes.subarray(0, 21);
  return base58Checksum(payload).equals(bytes.subarray(21)) ? Buffer.from(payload.subarray(1)).toString('hex') : null;
}

/**
 * The 20-byte account id in lower-case hex from any notation of a node: base58 (`visible: true`), 21-byte hex with
 * `41`, 20-byte hex as in logs, with or without `0x`. Null for anything else.
 */
export function accountOf(text: string): string | null {
  if (text.startsWith('T')) return accountOfBase58(text);
  const hex = (text.startsWith('0x') ? text.slice(2) : text).toLowerCase();
  if (/^[0-9a-f]{40}$/.test(hex)) return hex;
  return /^41[0-9a-f]{40}$/.test(hex) ? hex.slice(2) : null;
}
