import { createHash } from 'node:crypto';
import { decodeBase58, encodeBase58 } from 'ethers';

export const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
export const bytesOfHex = (hex: string): Buffer => Buffer.from(hex.startsWith('0x') ? hex.slice(2) : hex, 'hex');

/** `41` and 20 bytes in hex to `T...`. */
export function base58Of(addressHex: string): string {
  const payload = bytesOfHex(addressHex);
  return encodeBase58(Buffer.concat([payload, sha256(sha256(payload)).subarray(0, 4)]));
}

/** `T...` or 41-hex to 41-hex; null when it is neither. */
export function addressHexOf(text: unknown): string | null {
  if (typeof text !== 'string') return null;
  if (/^41[0-9a-f]{40}$/i.test(text)) return text.toLowerCase();
  if (!/^T[1-9A-HJ-NP-Za-km-z]{33}$/.test(text)) return null;
  const bytes = bytesOfHex(decodeBase58(text).toString(16).padStart(50, '0'));
  const payload = bytes.subarray(0, 21);
  return bytes.length === 25 && payload[0] === 0x41 && sha256(sha256(payload)).subarray(0, 4).equals(bytes.subarray(21))
    ? hexOf(payload)
    : null;
}

/** TRON's account `41‖X` is the account `0xX` of the underlying EVM. */
export const evmAddressOf = (addressHex: string): string => `0x${addressHex.slice(2)}`;
export const tronAddressOf = (evmAddress: string): string => `41${evmAddress.slice(2).toLowerCase()}`;
/** The API encodes messages as the hex of their text. */
export const hexText = (text: string): string => Buffer.from(text, 'utf8').toString('hex');
