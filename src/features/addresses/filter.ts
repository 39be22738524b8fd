/** A block is 256 bits, of which each key sets one in each of eight words. */
const BLOCK_WORDS = 8;
/** 12.8 bits a key in a layer that is full: about one stranger in 250 passes it. */
const KEYS_PER_BLOCK = 20;
/** 32 KiB. */
const FIRST_WORDS = 1_024 * BLOCK_WORDS;
/** Odd numbers that choose a bit of each word by multiplication: those of Parquet's filters. */
const SALTS = Uint32Array.of(
  ...[0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31],
);

/** A Bloom filter whose keys touch one cache line each. Bits are only ever set. */
export interface Layer {
  readonly bits: Uint32Array;
  keys: number;
}

/** `words`: a power of two. */
export const emptyLayer = (words: number): Layer => ({ bits: new Uint32Array(words), keys: 0 });

const isFull = ({ bits, keys }: Layer): boolean => keys >= (bits.length / BLOCK_WORDS) * KEYS_PER_BLOCK;

/**
 * Says for a key, two 32-bit hashes, that it was never added, or that it may have been. A layer that is full gets
 * another one, twice as large, beside it.
 */
export class AddressFilter {
  #layers: readonly Layer[] = [];

  /** The largest, which most keys are in, first. */
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

  /** What they hold is in it from now on, too. */
  adopt(layers: readonly Layer[]): void {
    this.#layers = [...layers, ...this.#layers].sort((one, other) => other.bits.length - one.bits.length);
  }

  /** The layer that takes keys. */
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
