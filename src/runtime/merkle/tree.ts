import { hash } from 'node:crypto';
import { must } from '../../domain/values/must.ts';

/*
 * The Merkle tree of RFC 9162 (section 2.1; the same tree as RFC 6962): SHA-256, with a zero byte before leaves and a
 * one byte before nodes. Sizes and indexes are counted in leaves and may exceed 2^32, so bit operators must not be used
 * on them.
 */

/** The hash of the leaves from `from` up to but excluding `to`; called only for ranges that are subtrees. */
export type RangeHash = (from: number, to: number) => Buffer;

export const HASH_BYTES = 32;
const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

/** The root of the tree without leaves. */
export const EMPTY_ROOT: Buffer = hash('sha256', '', 'buffer');

export const leafHash = (entry: Uint8Array): Buffer => hash('sha256', Buffer.concat([LEAF, entry]), 'buffer');

export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([NODE, left, right]), 'buffer');

/** The largest power of two below `size`, which must be at least 2. */
export function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** The root over concatenated leaf hashes. */
export function rootOfLeaves(leaves: Buffer): Buffer {
  const count = leaves.length / HASH_BYTES;
  if (count === 0) return EMPTY_ROOT;
  if (count === 1) return leaves.subarray(0, HASH_BYTES);
  const split = splitOf(count) * HASH_BYTES;
  return nodeHash(rootOfLeaves(leaves.subarray(0, split)), rootOfLeaves(leaves.subarray(split)));
}

/** The audit path of a leaf, from the bottom up. `leaf` counts from 0 and is below `size`. */
export function inclusionProof(leaf: number, size: number, hashOf: RangeHash): Buffer[] {
  const path: Buffer[] = [];
  for (let from = 0, to = size; to - from > 1;) {
    const middle = from + splitOf(to - from);
    if (leaf < middle) {
      path.push(hashOf(middle, to));
      to = middle;
    } else {
      path.push(hashOf(from, middle));
      from = middle;
    }
  }
  return path.reverse();
}

/** Proves that the tree of `first` leaves is a prefix of that of `second`. `0 < first <= second`. */
export function consistencyProof(first: number, second: number, hashOf: RangeHash): Buffer[] {
  const path: Buffer[] = [];
  let from = 0;
  let to = second;
  let isOld = true;
  while (first !== to) {
    const middle = from + splitOf(to - from);
    if (first <= middle) {
      path.push(hashOf(middle, to));
      to = middle;
    } else {
      path.push(hashOf(from, middle));
      from = middle;
      isOld = false;
    }
  }
  if (!isOld) path.push(hashOf(from, to));
  return path.reverse();
}

/** Whether the leaf hash is at its place in the tree with this root (RFC 9162, 2.1.3.2). */
export function verifyInclusion(
  leaf: number,
  size: number,
  entryHash: Uint8Array,
  proof: readonly Uint8Array[],
  root: Uint8Array,
): boolean {
  if (leaf < 0 || leaf >= size) return false;
  let [fn, sn] = [leaf, size - 1];
  let found: Uint8Array = entryHash;
  for (const node of proof) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      found = nodeHash(node, found);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else {
      found = nodeHash(found, node);
    }
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && same(found, root);
}

/** Whether the tree of `first` leaves is a prefix of that of `second` (RFC 9162, 2.1.4.2). */
export function verifyConsistency(
  first: number,
  second: number,
  proof: readonly Uint8Array[],
  firstRoot: Uint8Array,
  secondRoot: Uint8Array,
): boolean {
  if (first === second) return proof.length === 0 && same(firstRoot, secondRoot);
  if (first < 1 || first > second || proof.length === 0) return false;
  const [start, ...rest] = isPowerOfTwo(first) ? [firstRoot, ...proof] : proof;
  let [fn, sn] = [first - 1, second - 1];
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  let [old, now] = [must(start), must(start)];
  for (const node of rest) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      old = nodeHash(node, old);
      now = nodeHash(node, now);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else {
      now = nodeHash(now, node);
    }
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && same(old, firstRoot) && same(now, secondRoot);
}

function isPowerOfTwo(count: number): boolean {
  return count === 1 || splitOf(count) * 2 === count;
}

const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;
