import type { Block } from '../../../ports/chain/chain.ts';

/** Fewer blocks tell nothing. */
const LEAST_BLOCKS = 20;
/** Of reading; older times count for half. */
const WINDOW_MS = 60_000;
/**
 * Fewer blocks were new since the reading before, which then keeps up however long each takes: what falls behind has
 * more to read each time.
 */
const FEW_NEW = 5;

/** How fast blocks are read, against how fast the chain makes them. */
export class ReadingPace {
  #blocks = 0;
  #spentMs = 0;
  #head = -1;
  #keepsUp = true;
  #since: Block | null = null;
  #last: Block | null = null;

  /** Reads blocks from `from` on, towards the head. */
  async measured<Result extends { readonly lastBlock: Block }>(
    from: number,
    head: number,
    read: () => Promise<Result>,
  ): Promise<Result> {
    if (head !== this.#head) this.newHead(head, head - from + 1);
    const begunMs = performance.now();
    const result = await read();
    this.add(result.lastBlock.number - from + 1, performance.now() - begunMs, result.lastBlock);
    return result;
  }

  /** `unread`: how many blocks up to it were not read when it was first seen. */
  newHead(head: number, unread: number): void {
    this.#head = head;
    this.#keepsUp = unread < FEW_NEW;
  }

  /** Blocks were read up to `last` in that time. */
  add(blocks: number, spentMs: number, last: Block): void {
    // After a reorganisation, or from the first block on, times are compared anew.
    if (this.#since === null || last.number <= this.#since.number) this.#since = last;
    this.#blocks += blocks;
    this.#spentMs += spentMs;
    this.#last = last;
    if (this.#spentMs <= WINDOW_MS) return;
    this.#blocks /= 2;
    this.#spentMs /= 2;
  }

  /**
   * Blocks read in a second of reading, for each that the chain makes in it. Below 1 reading falls behind. Null while
   * that is not known.
   */
  get ratio(): number | null {
    const [since, last] = [this.#since, this.#last];
    if (since === null || last === null || last.number - since.number < LEAST_BLOCKS) return null;
    if (last.timeSec <= since.timeSec || this.#spentMs === 0) return null;
    const madePerSec = (last.number - since.number) / (last.timeSec - since.timeSec);
    const ratio = this.#blocks / (this.#spentMs / 1000) / madePerSec;
    return this.#keepsUp ? Math.max(1, ratio) : ratio;
  }
}
