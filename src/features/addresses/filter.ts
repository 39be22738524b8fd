/** A block has 256 bits in eight words. Each key sets one bit in each word. */
const BLOCK_WORDS = 8;
/** 12.8 bits per key in a full layer: about one stranger in 250 passes. */
const KEYS_PER_BLOCK = 20;
/** 32 KiB. */
const FIRST_WORDS = 1_024 * BLOCK_WORDS;
/** Odd multipliers that select a bit in each word, the same as in Parquet's Bloom filters. */
const SALTS = Uint32Array.of(
  ...[0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31],
);

/** A Bloom filter in which each key touches a single cache line. Bits are never cleared. */
export interface Layer {
  readonly bits: Uint32Array;
  keys: number;
}

/** `words` must be a power of two. */
export const emptyLayer = (words: number): Layer => ({ bits: new Uint32Array(words), keys: 0 });

const isFull = ({ bits, keys }: Layer): boolean => keys >= (bits.length / BLOCK_WORDS) * KEYS_PER_BLOCK;

/**
 * Tells for a key (two 32-bit hashes) that it was never added, or that it may have been. When the newest layer is full,
 * another of twice its size is added.
 */
export class AddressFilter {
  #layers: readonly Layer[] = [];

  /** The largest first, because it holds most of the keys. */
  get layers(): readonly Layer[] {
    return this.#layers;
  }

  get memoryBytes(): number {
    return this.#layers.reduce((sum, { bits }) => sum + bits.byteLength, 0);
  }

  mayHave(first: number, second: number): boolean {
    for (const { bits } of this.#layers) {
      const block = blockOf(first, bits);
      let word = 0;
      while (word < BLOCK_WORDS && ((bits[block + word] ?? 0) & bitOf(second, word)) !== 0) word += 1;
      if (word === BLOCK_WORDS) return true;
    }
    return false;
  }

  add(first: number, second: number): void {
    if (this.mayHave(first, second)) return;
    const layer = this.#open();
    const block = blockOf(first, layer.bits);
    for (let word = 0; word < BLOCK_WORDS; word += 1)
      layer.bits[block + word] = (layer.bits[block + word] ?? 0) | bitOf(second, word);
    layer.keys += 1;
  }

  /** Adds the contents of `layers` to this filter. */
  adopt(layers: readonly Layer[]): void {
    this.#layers = [...layers, ...this.#layers].sort((one, other) => other.bits.length - one.bits.length);
  }

  /** The layer that receives new keys. */
  #open(): Layer {
    const [largest] = this.#layers;
    if (largest && !isFull(largest)) return largest;
    const layer = emptyLayer(largest ? 2 * largest.bits.length : FIRST_WORDS);
    this.#layers = [layer, ...this.#layers];
    return layer;
  }
}

const bitOf = (second: number, word: number): number => 1 << (Math.imul(second, SALTS[word] ?? 0) >>> 27);

const blockOf = (first: number, bits: Uint32Array): number => (first * BLOCK_WORDS) & (bits.length - 1);
