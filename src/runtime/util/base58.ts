import { base58 as coder } from '@scure/base';

/** Base58 in Bitcoin's alphabet, which TRON and Solana use too. */
export const base58 = (bytes: Uint8Array): string => coder.encode(bytes);

/** The bytes behind a base58 text; null when a character is not of the alphabet. */
export function fromBase58(text: string): Uint8Array | null {
  try {
    return coder.decode(text);
  } catch {
    return null;
  }
}
