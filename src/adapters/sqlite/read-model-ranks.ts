/*
 * How a list finds its n-th member without counting: orders are cut into blocks of 65,536, a block into leaves of 64. A list's
 * row holds the number of members of each block, `list_counts` those of each leaf, `list_leaves` the members. A rank is then a walk over a few
 * dozen numbers, one look-up and one leaf, at any depth and however many members came and went. The last leaf, where nearly everything happens,
 * is in none of the counts and in the list's row itself: adding a member to it writes nothing else.
 */

export const BLOCK_ORDERS = 65_536;
export const LEAF_ORDERS = 64;
export const LEAVES_PER_BLOCK = BLOCK_ORDERS / LEAF_ORDERS;
/** Bounds the row of a list to 256 KiB. */
export const MAX_ORDER = 2 ** 32 - 1;

export const blockOf = (order: number): number => Math.floor(order / BLOCK_ORDERS);
export const leafOf = (order: number): number => Math.floor((order % BLOCK_ORDERS) / LEAF_ORDERS);
/** Of a whole list, block and leaf in one. */
export const leafNumber = (order: number): number => Math.floor(order / LEAF_ORDERS);
export const leafStart = (block: number, leaf: number): number => block * BLOCK_ORDERS + leaf * LEAF_ORDERS;

const MAX_LEAVES = 2 ** 26;
const MAX_BLOCKS = 2 ** 16;
/** Keys of rows: a list's leaves and counts lie together, in order. Lists are fewer than 2^27. */
export const leafKey = (list: number, leaf: number): number => list * MAX_LEAVES + leaf;
export const listOfLeafKey = (key: number): number => Math.floor(key / MAX_LEAVES);
export const leafOfKey = (key: number): number => key % MAX_LEAVES;
export const countsKey = (list: number, block: number): number => list * MAX_BLOCKS + block;

export function blocksFromBytes(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.slice().buffer);
}

export function blocksToBytes(blocks: Uint32Array): Uint8Array {
  return new Uint8Array(blocks.buffer, blocks.byteOffset, blocks.byteLength);
}

/** Where a rank lies in a row of counts, counted from the lowest: the index, and what is left of the rank there. */
export function locate(counts: Uint32Array | Uint8Array, rank: number): { index: number; rest: number } {
  let rest = rank;
  for (let index = 0; index < counts.length; index += 1) {
    const count = counts[index]!;
    if (rest < count) return { index, rest };
    rest -= count;
  }
  throw new RangeError(`rank ${rank} is beyond the counts`);
}

export function sumBelow(counts: Uint32Array | Uint8Array, index: number): number {
  let sum = 0;
  const end = Math.min(index, counts.length);
  for (let i = 0; i < end; i += 1) sum += counts[i]!;
  return sum;
}
