import type { AddressFamily } from '../../domain/networks/networks.ts';
import { base58, base58Check, fromBase58 } from '../../chain-formats/base58.ts';

/** Value of each hex digit; -1 for other characters. */
const HEX_VALUES = new Int8Array(128).fill(-1);
for (let value = 0; value < 16; value += 1) {
  HEX_VALUES[value.toString(16).charCodeAt(0)] = value;
  HEX_VALUES[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

const TRON_BYTES = 25;
const TRON_PREFIX = [0x41];
const SOLANA_BYTES = 32;
/** Longest accepted base58 text. Decoding time grows with the square of the length. */
const LONGEST_TEXT = 44;

/**
 * Writes an address as the words of its bytes (20 for EVM and TRON, 32 for Solana), the same for every notation. False
 * if the text is not an address of the family.
 */
export function writeAddressKey(family: AddressFamily, text: string, words: Uint32Array): boolean {
  if (family === 'evm') return text.length === 42 && text.startsWith('0x') && writeHex(text, 2, words);
  if (family === 'solana') return writeBase58(text, SOLANA_BYTES, [], words);
  if (text.length === 34) return writeBase58(text, TRON_BYTES, TRON_PREFIX, words);
  // java-tron logs have 20 bytes without a prefix, its other answers 21 bytes with `41`.
  if (text.length === 40) return writeHex(text, 0, words);
  return text.length === 42 && (text.startsWith('41') || text.startsWith('0x')) && writeHex(text, 2, words);
}

/** Eight hex digits as a number. Does not validate its input. */
export function hexWord(text: string, at: number): number {
  let value = 0;
  for (let digit = at; digit < at + 8; digit += 1)
    value = (value << 4) | (HEX_VALUES[text.charCodeAt(digit) & 127] ?? 0);
  return value;
}

function writeHex(text: string, from: number, words: Uint32Array): boolean {
  for (let at = from; at < from + 40; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 127 || (HEX_VALUES[code] ?? -1) < 0) return false;
  }
  for (let word = 0; word < 5; word += 1) words[word] = hexWord(text, from + word * 8);
  return true;
}

/** False unless the text decodes to exactly `length` bytes with the prefix. The prefix is not written. */
function writeBase58(text: string, length: number, prefix: readonly number[], words: Uint32Array): boolean {
  const bytes = text.length > LONGEST_TEXT ? null : fromBase58(text);
  if (bytes?.length !== length || prefix.some((byte, at) => bytes[at] !== byte)) return false;
  // Big-endian, like the hex form.
  for (let word = 0, at = prefix.length; word < words.length; word += 1, at += 4) {
    words[word] =
      ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
  }
  return true;
}

/** The address in the form that payment options and look-ups use. */
export function addressText(family: AddressFamily, words: Uint32Array): string {
  const bytes = Buffer.alloc(words.length * 4);
  words.forEach((word, at) => bytes.writeUInt32BE(word, at * 4));
  if (family === 'evm') return `0x${bytes.toString('hex')}`;
  return family === 'solana' ? base58(bytes) : base58Check(Buffer.concat([Buffer.from(TRON_PREFIX), bytes]));
}
