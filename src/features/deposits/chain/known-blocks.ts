import type { Block } from '../../../ports/chain/chain.ts';
import { must } from '../../../domain/values/must.ts';

/** More blocks than a working chain ever leaves unfinalised. Beyond this the oldest hashes are dropped. */
const MAX_BLOCKS = 8_192;

/** Block hashes seen at recent heights, to detect and locate a reorganisation. Heights may be missing. */
export class KnownBlocks {
  /** Ascending by number. */
  #blocks: Block[] = [];

  get newest(): Block | null {
    return this.#blocks.at(-1) ?? null;
  }

  /** Adds a block and forgets all others at or above its height. */
  add(block: Block): void {
    this.dropAbove(block.number - 1);
    this.#blocks.push(block);
    if (this.#blocks.length > MAX_BLOCKS) this.#blocks.shift();
  }

  /** Adds a block without forgetting those above it. */
  insert(block: Block): void {
    const at = this.#blocks.findIndex((known) => known.number >= block.number);
    if (at < 0) this.#blocks.push(block);
    else this.#blocks.splice(at, must(this.#blocks[at]).number === block.number ? 1 : 0, block);
  }

  dropAbove(number: number): void {
    while (this.#blocks.length > 0 && must(this.#blocks.at(-1)).number > number) this.#blocks.pop();
  }

  dropBelow(number: number): void {
    const first = this.#blocks.findIndex((block) => block.number >= number);
    this.#blocks = first < 0 ? [] : this.#blocks.slice(first);
  }

  hashAt(number: number): string | null {
    for (let at = this.#blocks.length - 1; at >= 0 && must(this.#blocks[at]).number >= number; at -= 1) {
      if (must(this.#blocks[at]).number === number) return must(this.#blocks[at]).hash;
    }
    return null;
  }

  /** The newest known block up to the height. */
  newestUpTo(number: number): Block | null {
    return this.#blocks.findLast((block) => block.number <= number) ?? null;
  }

  /** Blocks at or below the height, newest first. */
  *downFrom(number: number): Generator<Block> {
    for (let at = this.#blocks.length - 1; at >= 0; at -= 1)
      if (must(this.#blocks[at]).number <= number) yield must(this.#blocks[at]);
  }
}
