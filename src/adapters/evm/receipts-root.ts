import { keccak_256 } from '@noble/hashes/sha3.js';
import { ProviderFault } from '../../ports/chain/rpc-pool.ts';
import type { RawReceipt } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

/** What RLP encodes (yellow paper, appendix B): bytes, or a list of such. */
type Rlp = Uint8Array | readonly Rlp[];

interface Entry {
  readonly nibbles: readonly number[];
  readonly value: Uint8Array;
}

const NONE = new Uint8Array(0);
const TRUE = Uint8Array.of(1);

/**
 * The receipts root of a block with exactly these receipts in order: a Merkle Patricia trie over their encodings by
 * index (yellow paper, 4.3.2 and appendix D; EIP-2718 for the types). Null if a receipt lacks a required field; throws
 * `ProviderFault` for a field that is not hex.
 */
export function receiptsRootOf(receipts: readonly RawReceipt[]): string | null {
  const entries: Entry[] = [];
  for (const [index, receipt] of receipts.entries()) {
    const value = encodeReceipt(receipt);
    if (value === null) return null;
    entries.push({ nibbles: nibblesOf(encode(quantityOf(`0x${index.toString(16)}`))), value });
  }
  return `0x${Buffer.from(keccak_256(encode(entries.length === 0 ? NONE : nodeOf(entries, 0)))).toString('hex')}`;
}

function encodeReceipt({ status, cumulativeGasUsed, logsBloom, logs, type }: RawReceipt): Uint8Array | null {
  if (cumulativeGasUsed === undefined || logsBloom === undefined || !/^0x[01]$/.test(status)) return null;
  const shown = logs.map(({ address, topics, data }) => [bytesOf(address), topics.map(bytesOf), bytesOf(data)]);
  const body = encode([status === '0x1' ? TRUE : NONE, quantityOf(cumulativeGasUsed), bytesOf(logsBloom), shown]);
  const kind = quantityOf(type ?? '0x0');
  return kind.length === 0 ? body : Buffer.concat([kind, body]);
}

/** No key is a prefix of another, so a branch never has a value of its own. */
function nodeOf(entries: readonly Entry[], depth: number): readonly Rlp[] {
  const [first] = entries;
  if (entries.length === 1) return [packed(must(first).nibbles.slice(depth), true), must(first).value];
  let shared = 0;
  while (entries.every(({ nibbles }) => nibbles[depth + shared] === must(first).nibbles[depth + shared])) shared += 1;
  if (shared > 0)
    return [
      packed(must(first).nibbles.slice(depth, depth + shared), false),
      referenceTo(nodeOf(entries, depth + shared)),
    ];
  const below = Array.from({ length: 16 }, (): Entry[] => []);
  for (const entry of entries) must(below[must(entry.nibbles[depth])]).push(entry);
  return [...below.map((some) => (some.length === 0 ? NONE : referenceTo(nodeOf(some, depth + 1)))), NONE];
}

/** A node shorter than a hash is embedded in its parent. */
function referenceTo(node: readonly Rlp[]): Rlp {
  const encoded = encode(node);
  return encoded.length < 32 ? node : keccak_256(encoded);
}

/** Hex-prefix encoding: the prefix flags a leaf and holds an odd first nibble. */
function packed(nibbles: readonly number[], isLeaf: boolean): Uint8Array {
  const flag = (isLeaf ? 2 : 0) + (nibbles.length % 2);
  const all = [flag, ...(nibbles.length % 2 === 0 ? [0] : []), ...nibbles];
  return Uint8Array.from({ length: all.length / 2 }, (_, at) => must(all[2 * at]) * 16 + must(all[2 * at + 1]));
}

function encode(item: Rlp): Uint8Array {
  if (!(item instanceof Uint8Array)) return withLength(0xc0, Buffer.concat(item.map(encode)));
  return item.length === 1 && (item[0] ?? 0) < 0x80 ? item : withLength(0x80, item);
}

function withLength(offset: number, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  if (length <= 55) return Buffer.concat([Uint8Array.of(offset + length), payload]);
  const size = quantityOf(`0x${length.toString(16)}`);
  return Buffer.concat([Uint8Array.of(offset + 55 + size.length), size, payload]);
}

const nibblesOf = (bytes: Uint8Array): number[] => [...bytes].flatMap((byte) => [byte >> 4, byte & 15]);

/** Rejects text that would decode to fewer bytes than it shows, because unhashed parts could say anything. */
function bytesOf(hex: string): Uint8Array {
  const bytes = Buffer.from(hex.slice(2), 'hex');
  if (!hex.startsWith('0x') || bytes.length * 2 !== hex.length - 2)
    throw new ProviderFault('inconsistent', 'a receipt holds what is no hex');
  return bytes;
}

/** Minimal big-endian bytes; none for zero. */
function quantityOf(hex: string): Uint8Array {
  const digits = hex.slice(2).replace(/^0+/, '');
  return bytesOf(digits.length % 2 === 0 ? `0x${digits}` : `0x0${digits}`);
}
