import { hash } from 'node:crypto';

/**
 * A reproducible stream of numbers (xoshiro128**). `fork` gives each part of the simulation a stream of its own, so
 * that leaving one part out of a plan leaves the others' alone.
 */
export class Prng {
  readonly #name: string;
  readonly #state: Uint32Array;

  constructor(name: string) {
    this.#name = name;
    const seed = hash('sha256', name, 'buffer');
    this.#state = new Uint32Array([
      seed.readUInt32LE(0),
      seed.readUInt32LE(4),
      seed.readUInt32LE(8),
      seed.readUInt32LE(12) | 1,
    ]);
  }

  fork(name: string): Prng {
    return new Prng(`${this.#name}/${name}`);
  }

  uint32(): number {
    const state = this.#state;
    const result = Math.imul(rotated(Math.imul(state[1]!, 5), 7), 9) >>> 0;
    const shifted = state[1]! << 9;
    state[2]! ^= state[0]!;
    state[3]! ^= state[1]!;
    state[1]! ^= state[2]!;
    state[0]! ^= state[3]!;
    state[2]! ^= shifted;
    state[3] = rotated(state[3]!, 11);
    return result;
  }

  /** At least 0, below 1. */
  fraction(): number {
    return this.uint32() / 2 ** 32;
  }

  /** Both ends included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)]!;
  }

  bytes(length: number): Uint8Array {
    return this.fill(new Uint8Array(length));
  }

  fill<Bytes extends Uint8Array>(bytes: Bytes): Bytes {
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = this.uint32() >>> 24;
    return bytes;
  }

  uuid(): `${string}-${string}-${string}-${string}-${string}` {
    const bytes = this.bytes(16);
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    const hex = Buffer.from(bytes).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
}

const rotated = (value: number, by: number): number => (value << by) | (value >>> (32 - by));
