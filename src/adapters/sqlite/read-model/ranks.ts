/*
 * How a list finds its n-th member without counting. A list has one bit for each order of its ordinal list, in chunks
 * of 16,384 orders. The list's row holds the number of members of each chunk, so finding a rank means walking over a
 * few dozen numbers and one chunk of at most two KiB, at any depth and however many members came and went. The members
 * themselves are in leaves of 64 orders, stored once for all lists of the ordinal list. The last chunk of a list and
 * the last leaf of an ordinal list, where nearly all changes happen, are in the list's own row, so adding a member
 * writes nothing else.
 */

export const LEAF_ORDERS = 64;
export const CHUNK_ORDERS = 16_384;
/** Limits the counts in a list's row to 512 KiB. */
export const MAX_ORDER = 2 ** 32 - 1;

export const leafNumber = (order: number): number => Math.floor(order / LEAF_ORDERS);
export const chunkNumber = (order: number): number => Math.floor(order / CHUNK_ORDERS);

const MAX_LEAVES = 2 ** 26;
const MAX_CHUNKS = 2 ** 18;
/** Row keys: a list's leaves and chunks are stored together, in order. A set has fewer than 2^27 lists. */
export const leafKey = (list: number, leaf: number): number => list * MAX_LEAVES + leaf;
export const leafOfKey = (key: number): number => key % MAX_LEAVES;
export const chunkKey = (list: number, chunk: number): number => list * MAX_CHUNKS + chunk;

export function countsFromBytes(bytes: Uint8Array): Uint16Array {
  return bytes.length === 0 ? NO_COUNTS : new Uint16Array(bytes.slice().buffer);
}

/** Shared, since it is empty. */
export const NO_COUNTS = new Uint16Array(0);

export function countsToBytes(counts: Uint16Array): Uint8Array {
  return counts.length === 0 ? NO_BYTES : new Uint8Array(counts.buffer, counts.byteOffset, counts.byteLength);
}

const NO_BYTES = new Uint8Array(0);

/** Finds a rank in a row of counts, from the lowest: the index, and the remaining rank there. */
export function locate(counts: Uint16Array, rank: number): { index: number; rest: number } {
  let rest = rank;
  for (let index = 0; index < counts.length; index += 1) {
    const count = counts[index] ?? 0;
    if (rest < count) return { index, rest };
    rest -= count;
  }
  throw new RangeError(`rank ${rank} is beyond the counts`);
}

export function sumBelow(counts: Uint16Array, index: number): number {
  let sum = 0;
  const end = Math.min(index, counts.length);
  for (let i = 0; i < end; i += 1) sum += counts[i] ?? 0;
  return sum;
}
