import { concat, dataLength, encodeRlp, keccak256, toBeArray, toBeHex } from 'ethers';
import type { RlpStructuredData } from 'ethers';
import type { RawReceipt } from './rpc.ts';

interface Entry {
  readonly nibbles: readonly number[];
  readonly value: string;
}

/**
 * The root that a block's header must have when these are all its receipts, in order: a Merkle Patricia trie over their
 * encodings by index (yellow paper, 4.3.2 and appendix D; EIP-2718 for the types). Null when a receipt lacks a field it needs.
 */
export function receiptsRootOf(receipts: readonly RawReceipt[]): string | null {
  const entries: Entry[] = [];
  for (const [index, receipt] of receipts.entries()) {
    const value = encodeReceipt(receipt);
    if (value === null) return null;
    entries.push({ nibbles: nibblesOf(encodeRlp(index === 0 ? '0x' : toBeArray(index))), value });
  }
  return keccak256(encodeRlp(entries.length === 0 ? '0x' : nodeOf(entries, 0)));
}

function encodeReceipt({ status, cumulativeGasUsed, logsBloom, logs, type }: RawReceipt): string | null {
  if (cumulativeGasUsed === undefined || logsBloom === undefined || !/^0x[01]$/.test(status)) return null;
  const body = encodeRlp([
    status === '0x1' ? '0x01' : '0x',
    toBeArray(cumulativeGasUsed),
    logsBloom,
    logs.map(({ address, topics, data }) => [address, [...topics], data]),
  ]);
  return type === undefined || BigInt(type) === 0n ? body : concat([toBeHex(type, 1), body]);
}

/** No key is the start of another one, so a branch never has a value of its own. */
function nodeOf(entries: readonly Entry[], depth: number): RlpStructuredData[] {
  const [first] = entries;
  if (entries.length === 1) return [packed(first!.nibbles.slice(depth), true), first!.value];
  let shared = 0;
  while (entries.every(({ nibbles }) => nibbles[depth + shared] === first!.nibbles[depth + shared])) shared += 1;
  if (shared > 0) return [packed(first!.nibbles.slice(depth, depth + shared), false), referenceTo(nodeOf(entries, depth + shared))];
  const children = Array.from({ length: 16 }, (_, nibble): RlpStructuredData => {
    const below = entries.filter(({ nibbles }) => nibbles[depth] === nibble);
    return below.length === 0 ? '0x' : referenceTo(nodeOf(below, depth + 1));
  });
  return [...children, '0x'];
}

/** A node shorter than a hash stands in its parent itself. */
function referenceTo(node: RlpStructuredData[]): RlpStructuredData {
  const encoded = encodeRlp(node);
  return dataLength(encoded) < 32 ? node : keccak256(encoded);
}

/** Hex-prefix encoding: whether it is a leaf, and an odd first nibble, stand in front. */
function packed(nibbles: readonly number[], isLeaf: boolean): string {
  const flag = (isLeaf ? 2 : 0) + (nibbles.length % 2);
  return `0x${[flag, ...(nibbles.length % 2 === 0 ? [0] : []), ...nibbles].map((nibble) => nibble.toString(16)).join('')}`;
}

const nibblesOf = (hex: string): number[] => [...hex.slice(2)].map((digit) => Number.parseInt(digit, 16));
