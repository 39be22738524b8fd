/** How long a nonce is remembered (port `Nonces`). */
export const NONCE_LIFETIME_SEC = 600;

/** Nonces that expire within one such period share a table, which is dropped as a whole. */
const PERIOD_SEC = 60;
const FIRST_CAPACITY = 1_024;
/** Four words of digest and one of expiry. */
const WORDS = 5;

/**
 * Used nonces as 16-byte digests in typed arrays: about 30 bytes each, and dropping a minute's worth costs nothing.
 * Expired nonces may be used again.
 */
export class NonceMemory {
  readonly #periods = new Map<number, DigestTable>();

  get size(): number {
    let size = 0;
    for (const table of this.#periods.values()) size += table.size;
    return size;
  }

  /** False if the digest is present and has not expired at `nowSec`. */
  add(digest: Uint8Array, expiresAtSec: number, nowSec: number): boolean {
    this.#forget(nowSec);
    const key = wordsOf(digest);
    for (const table of this.#periods.values()) if (table.expiryOf(key) >= nowSec) return false;
    const period = Math.floor(expiresAtSec / PERIOD_SEC);
    let table = this.#periods.get(period);
    if (!table) this.#periods.set(period, (table = new DigestTable()));
    table.set(key, expiresAtSec);
    return true;
  }

  #forget(nowSec: number): void {
    for (const period of this.#periods.keys()) if ((period + 1) * PERIOD_SEC <= nowSec) this.#periods.delete(period);
  }
}

/** The first 16 bytes as four words. */
function wordsOf(digest: Uint8Array): Uint32Array {
  const words = new Uint32Array(4);
  new Uint8Array(words.buffer).set(digest.subarray(0, 16));
  return words;
}

/**
 * Open addressing with linear probing. Digests are uniform, so their first word is the hash. Nothing is ever removed.
 */
class DigestTable {
  #capacity = FIRST_CAPACITY;
  #slots = new Uint32Array(FIRST_CAPACITY * WORDS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** 0 if the digest is not here. */
  expiryOf(key: Uint32Array): number {
    return this.#slots[this.#find(key) + 4] ?? 0;
  }

  set(key: Uint32Array, expiresAtSec: number): void {
    if (this.#size * 3 >= this.#capacity * 2) this.#grow();
    this.#put(key, expiresAtSec);
  }

  #put(key: Uint32Array, expiresAtSec: number): void {
    const at = this.#find(key);
    if (this.#slots[at + 4] === 0) this.#size += 1;
    this.#slots.set(key, at);
    this.#slots[at + 4] = expiresAtSec;
  }

  /** Offset of the digest's slot, or of the free one where it belongs. */
  #find(key: Uint32Array): number {
    const slots = this.#slots;
    const mask = this.#capacity - 1;
    for (let slot = (key[0] ?? 0) & mask; ; slot = (slot + 1) & mask) {
      const at = slot * WORDS;
      if (slots[at + 4] === 0) return at;
      if (slots[at] === key[0] && slots[at + 1] === key[1] && slots[at + 2] === key[2] && slots[at + 3] === key[3])
        return at;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#capacity *= 2;
    this.#slots = new Uint32Array(this.#capacity * WORDS);
    this.#size = 0;
    for (let at = 0; at < old.length; at += WORDS)
      if (old[at + 4] !== 0) this.#put(old.subarray(at, at + 4), old[at + 4] ?? 0);
  }
}
