import { TILE_LEAVES, type MerkleLog } from '../../../runtime/merkle/log.ts';
import { HASH_BYTES, rootOfLeaves } from '../../../runtime/merkle/tree.ts';
import { leafOf, LogWalker, type LogFault } from './log-walker.ts';

/**
 * Rereads the log continuously, one tile at a time: verifies every text against its hash and every hash against the
 * tree in memory. Uses a separate connection, so that it sees what is in the file.
 */
export class LogRecheck {
  readonly #walker: LogWalker;
  readonly #tree: MerkleLog;
  #size = 0;

  constructor(dataDir: string, tree: MerkleLog) {
    this.#walker = new LogWalker(dataDir);
    this.#tree = tree;
  }

  /** Verifies the next tile, starting over after the last. */
  step(): LogFault | null {
    if (this.#size >= this.#tree.size) {
      this.#walker.restart();
      this.#size = 0;
    }
    const expected = Math.min(TILE_LEAVES, this.#tree.size - this.#size);
    const { events, fault } = this.#walker.check(expected);
    if (fault) return fault;
    const [first, last] = [this.#size + 1, this.#size + expected];
    if (events.length < expected)
      return { position: first + events.length, reason: `the log ends before it; it had ${this.#tree.size} events` };
    const leaves = Buffer.concat(events.map(({ hash }) => leafOf(hash)));
    // The newest tile is still growing and is read from its beginning next time.
    this.#size = expected < TILE_LEAVES ? Infinity : last;
    if (this.#isRemembered(leaves, first)) return null;
    return {
      position: null,
      reason: `one of the events ${first} to ${last} is not what it was when this process read it before`,
    };
  }

  close(): void {
    this.#walker.close();
  }

  #isRemembered(leaves: Buffer, first: number): boolean {
    if (leaves.length === TILE_LEAVES * HASH_BYTES)
      return rootOfLeaves(leaves).equals(this.#tree.tile((first - 1) / TILE_LEAVES));
    return this.#tree.openLeaves().subarray(0, leaves.length).equals(leaves);
  }
}
