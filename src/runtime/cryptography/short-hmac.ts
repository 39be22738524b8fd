import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;

/**
 * HMAC-SHA-256 (RFC 2104) of short texts by two one-shot hashes: `createHmac` makes an object for each, which costs
 * several times as much as hashing them.
 */
export class ShortHmac {
  /** The padded key, and room for the text after it. */
  #inner: Buffer;
  readonly #outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES);

  /** `key`: at most 64 bytes. */
  constructor(key: Uint8Array) {
    const bytes = Buffer.alloc(BLOCK_BYTES);
    bytes.set(key);
    this.#inner = Buffer.from(bytes.map((byte) => byte ^ 0x36));
    this.#outer.set(bytes.map((byte) => byte ^ 0x5c));
  }

  of(text: string): Buffer {
    const end = BLOCK_BYTES + Buffer.byteLength(text);
    if (end > this.#inner.length) this.#inner = Buffer.concat([this.#inner], end);
    this.#inner.write(text, BLOCK_BYTES);
    this.#outer.set(hash('sha256', this.#inner.subarray(0, end), 'buffer'), BLOCK_BYTES);
    return hash('sha256', this.#outer, 'buffer');
  }
}
