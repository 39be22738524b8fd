import { randomInt } from 'node:crypto';

const FIRST_SLOTS = 1_024;
/** Fraction of used slots at which their number doubles. */
const MAX_FILL = 0.5;

/**
 * Row locations by key, with eight bytes per slot instead of the key. A result is a candidate: the caller compares the
 * key of the row. Deleted rows are not removed.
 */
export class KeyIndex {
  readonly #seed = randomInt(2 ** 32);
  #hashes = new Uint32Array(FIRST_SLOTS);
  /** 0 is a free slot. */
  #ids = new Uint32Array(FIRST_SLOTS);
  #size = 0;
  /** A key that was not found is usually added next. */
  #lastKey: string | null = null;
  #lastHash = 0;

  /** Number of keys added, counting repetitions. */
  get size(): number {
    return this.#size;
  }

  /** `id`: from 1 to 2^32 - 1. */
  add(key: string, id: number): void {
    if (this.#size >= this.#ids.length * MAX_FILL) this.#grow();
    this.#put(this.#hashOf(key), id);
    this.#size += 1;
  }

  /** The first candidate that `isKey` accepts; 0 if there is none. */
  find(key: string, isKey: (id: number) => boolean): number {
    const hash = this.#hashOf(key);
    const mask = this.#ids.length - 1;
    for (let slot = hash & mask; this.#ids[slot] !== 0; slot = (slot + 1) & mask) {
      if (this.#hashes[slot] === hash && isKey(this.#ids[slot] ?? 0)) return this.#ids[slot] ?? 0;
    }
    return 0;
  }

  #put(hash: number, id: number): void {
    const mask = this.#ids.length - 1;
    let slot = hash & mask;
    while (this.#ids[slot] !== 0) slot = (slot + 1) & mask;
    this.#hashes[slot] = hash;
    this.#ids[slot] = id;
  }

  #grow(): void {
    const [hashes, ids] = [this.#hashes, this.#ids];
    this.#hashes = new Uint32Array(2 * hashes.length);
    this.#ids = new Uint32Array(2 * ids.length);
    for (let slot = 0; slot < ids.length; slot += 1) if (ids[slot] !== 0) this.#put(hashes[slot] ?? 0, ids[slot] ?? 0);
  }

  #hashOf(key: string): number {
    if (key !== this.#lastKey) {
      this.#lastKey = key;
      this.#lastHash = this.#mixed(key);
    }
    return this.#lastHash;
  }

  /** FNV-1a over the characters, mixed as in MurmurHash3. The seed prevents callers from choosing keys that collide. */
  #mixed(key: string): number {
    let hash = this.#seed;
    for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  }
}
