import { hash } from 'node:crypto';
import { base58 as coder } from '@scure/base';

/** Base58 in Bitcoin's alphabet, also used by TRON and Solana. */
export const base58 = (bytes: Uint8Array): string => coder.encode(bytes);

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');
export const base58Checksum = (payload: Uint8Array): Buffer => sha256(sha256(payload)).subarray(0, 4);

/** With the checksum at the end of TRON addresses. */
export const base58Check = (payload: Uint8Array): string => base58(Buffer.concat([payload, base58Checksum(payload)]));

/** Decodes base58; null if a character is not in the alphabet. */
export function fromBase58(text: string): Uint8Array | null {
  try {
    return coder.decode(text);
  } catch {
    return null;
  }
}
