import type { AddressFamily } from '../domain/networks.ts';

/** Values of hex digits; -1 elsewhere. */
const HEX_VALUES = new Int8Array(128).fill(-1);
for (let value = 0; value < 16; value += 1) {
  HEX_VALUES[value.toString(16).charCodeAt(0)] = value;
  HEX_VALUES[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

const BASE58_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BASE58_VALUES = new Int8Array(128).fill(-1);
for (let value = 0; value < 58; value += 1) BASE58_VALUES[BASE58_ALPHABET.charCodeAt(value)] = value;

const TRON_BYTES = 25;
const TRON_PREFIX = 0x41;
const SOLANA_BYTES = 32;

/**
 * Writes an address as the words of its bytes, the same for every way to write it: 20 bytes for EVM and TRON, 32 for
 * Solana. False when the text is no address of the family.
 */
export function writeAddressKey(family: AddressFamily, text: string, words: Uint32Array): boolean {
  if (family === 'evm') return text.length === 42 && text.startsWith('0x') && writeHex(text, 2, words);
  if (family === 'solana') return decodeBase58(text, SOLANA_BYTES) && copy(words, 0);
  if (text.length === 34) return decodeBase58(text, TRON_BYTES) && decoded[0] === TRON_PREFIX && copy(words, 1);
  // Logs of java-tron carry 20 bytes without a prefix, its other answers 21 bytes with `41`.
  if (text.length === 40) return writeHex(text, 0, words);
  return text.length === 42 && (text.startsWith('41') || text.startsWith('0x')) && writeHex(text, 2, words);
}

/** Eight hex digits as a number; rubbish in, rubbish out. */
export function hexWord(text: string, at: number): number {
  let value = 0;
  for (let digit = at; digit < at + 8; digit += 1) value = (value << 4) | HEX_VALUES[text.charCodeAt(digit) & 127]!;
  return value;
}

function writeHex(text: string, from: number, words: Uint32Array): boolean {
  for (let at = from; at < from + 40; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 127 || HEX_VALUES[code]! < 0) return false;
  }
  for (let word = 0; word < 5; word += 1) words[word] = hexWord(text, from + word * 8);
  return true;
}

const decoded = new Uint8Array(SOLANA_BYTES);

/** Decodes into `decoded`; false unless the text is exactly `length` bytes of base58. */
function decodeBase58(text: string, length: number): boolean {
  if (text.length > 44) return false;
  decoded.fill(0);
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    let carry = code < 128 ? BASE58_VALUES[code]! : -1;
    if (carry < 0) return false;
    for (let at = length - 1; at >= 0; at -= 1) {
      carry += decoded[at]! * 58;
      decoded[at] = carry & 0xff;
      carry >>>= 8;
    }
    if (carry !== 0) return false;
  }
  // A leading zero byte is one leading "1": anything else is another number of bytes.
  const zeros = decoded.subarray(0, length).findIndex((byte) => byte !== 0);
  const ones = /^1*/.exec(text)![0].length;
  return ones === (zeros < 0 ? length : zeros);
}

/** Most significant byte first, as hex reads. */
function copy(words: Uint32Array, from: number): boolean {
  for (let word = 0, at = from; word < words.length; word += 1, at += 4) {
    words[word] = (decoded[at]! << 24) | (decoded[at + 1]! << 16) | (decoded[at + 2]! << 8) | decoded[at + 3]!;
  }
  return true;
}
