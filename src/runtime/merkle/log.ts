import { consistencyProof, EMPTY_ROOT, HASH_BYTES, inclusionProof, nodeHash, rootOfLeaves, splitOf } from './tree.ts';
import { must } from '../../domain/values/must.ts';

/** Leaves under one stored node. Each stored level is narrower than the one below by this factor. */
export const TILE_LEAVES = 256;
const TILE = TILE_LEAVES;
const FIRST_CAPACITY = 64;

/** The leaf hashes from `from` up to but excluding `to`, concatenated; at most `TILE_LEAVES` of them. */
export type LeafSource = (from: number, to: number) => Buffer;

/**
 * A growing Merkle tree that stores one node for every 256 leaves, 256 of those, and so on: 32 bytes for 256 events.
 * The leaves themselves stay with the events and are read when a proof needs them.
 */
export class MerkleLog {
  readonly #leaves: LeafSource;
  readonly #open = Buffer.alloc(TILE * HASH_BYTES);
  readonly #levels: HashList[] = [];
  #size = 0;

  constructor(leaves: LeafSource) {
    this.#leaves = leaves;
  }

  /** Number of leaves. */
  get size(): number {
    return this.#size;
  }

  append(leaf: Uint8Array): void {
    this.#open.set(leaf, (this.#size % TILE) * HASH_BYTES);
    this.#size += 1;
    if (this.#size % TILE === 0) this.#keep(rootOfLeaves(this.#open));
  }

  /** Appends `TILE_LEAVES` leaves given only the node above them. Throws `RangeError` in the middle of a tile. */
  appendTile(node: Buffer): void {
    if (this.#size % TILE !== 0) throw new RangeError(`a tree of ${this.#size} leaves is in the middle of a tile`);
    this.#size += TILE;
    this.#keep(node);
  }

  /** The node above the leaves of a complete tile, counted from 0. */
  tile(index: number): Buffer {
    return must(this.#levels[0]).at(index);
  }

  /** The leaves of the newest, incomplete tile. */
  openLeaves(): Buffer {
    return this.#open.subarray(0, (this.#size % TILE) * HASH_BYTES);
  }

  #keep(tile: Buffer): void {
    let node = tile;
    for (let level = 0; ; level += 1) {
      const list = (this.#levels[level] ??= new HashList());
      list.push(node);
      if (list.length % TILE !== 0) return;
      node = rootOfLeaves(list.slice(list.length - TILE, list.length));
    }
  }

  /** Throws `RangeError` if the tree never had that size. */
  rootAt(size: number): Buffer {
    this.#assertReached(size);
    return size === 0 ? EMPTY_ROOT : Buffer.from(this.#hashOf(0, size));
  }

  /** Throws `RangeError` unless `leaf < size` and the tree has reached `size`. */
  inclusionProof(leaf: number, size: number): Buffer[] {
    this.#assertReached(size);
    if (!Number.isSafeInteger(leaf) || leaf < 0 || leaf >= size)
      throw new RangeError(`leaf ${leaf} is not below ${size}`);
    return inclusionProof(leaf, size, (from, to) => this.#hashOf(from, to)).map((node) => Buffer.from(node));
  }

  /** Throws `RangeError` unless `0 < first <= second` and the tree has reached `second`. */
  consistencyProof(first: number, second: number): Buffer[] {
    this.#assertReached(second);
    if (!Number.isSafeInteger(first) || first < 1 || first > second)
      throw new RangeError(`${first} is not between 1 and ${second}`);
    return consistencyProof(first, second, (from, to) => this.#hashOf(from, to)).map((node) => Buffer.from(node));
  }

  #hashOf(from: number, to: number): Buffer {
    const width = to - from;
    for (let level = 0, tile = TILE; tile <= width; level += 1, tile *= TILE) {
      if (tile === width) return must(this.#levels[level]).at(from / tile);
    }
    if (width <= TILE) return rootOfLeaves(this.#leavesOf(from, to));
    const middle = from + splitOf(width);
    return nodeHash(this.#hashOf(from, middle), this.#hashOf(middle, to));
  }

  /** The newest, incomplete tile is in memory. */
  #leavesOf(from: number, to: number): Buffer {
    const openFrom = this.#size - (this.#size % TILE);
    if (from < openFrom) return this.#leaves(from, to);
    return this.#open.subarray((from - openFrom) * HASH_BYTES, (to - openFrom) * HASH_BYTES);
  }

  #assertReached(size: number): void {
    if (!Number.isSafeInteger(size) || size < 0 || size > this.#size)
      throw new RangeError(`the tree has ${this.#size} leaves, not ${size}`);
  }
}

/** Hashes in one contiguous buffer. */
class HashList {
  #bytes = Buffer.alloc(FIRST_CAPACITY * HASH_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(node: Uint8Array): void {
    if ((this.#length + 1) * HASH_BYTES > this.#bytes.length) {
      const larger = Buffer.alloc(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(node, this.#length * HASH_BYTES);
    this.#length += 1;
  }

  at(index: number): Buffer {
    return this.slice(index, index + 1);
  }

  slice(from: number, to: number): Buffer {
    return this.#bytes.subarray(from * HASH_BYTES, to * HASH_BYTES);
  }
}
