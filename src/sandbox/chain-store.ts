import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzip } from 'node:zlib';
import { promisify } from 'node:util';
import { makeFolder } from '../runtime/files/make-folder.ts';

/** The inputs of a block: the same transactions at the same time after the same block give the same hash. */
export interface JournaledBlock {
  readonly number: number;
  readonly hash: string;
  readonly timeSec: number;
  /** Signed transactions in block order, hex with 0x. */
  readonly raw: readonly string[];
}

/** The part of anvil's saved state that compaction uses. */
interface SavedState {
  best_block_number: string | number;
  blocks: { header: { number: string }; transactions: unknown[] }[];
  transactions: { block_number: number | string }[];
}

/** Blocks without transactions kept in a compacted state: far more than anyone reads back. */
const RECENT_BLOCKS_KEPT = 1_000;
/** Newest blocks with transactions that are kept: every receipt that a watcher could still request. */
const BUSY_BLOCKS_KEPT = 10_000;

const unzip = promisify(gunzip);

/**
 * A chain's files: `state.json` is a snapshot in the node's own format, `blocks.jsonl` lists every block since. Blocks
 * are written one by one as they are made, so a killed sandbox loses none; snapshots keep the replay short.
 */
export class ChainStore {
  readonly stateFile: string;
  readonly #journalFile: string;
  readonly #identityFile: string;

  constructor(directory: string) {
    makeFolder(directory);
    this.stateFile = join(directory, 'state.json');
    this.#journalFile = join(directory, 'blocks.jsonl');
    this.#identityFile = join(directory, 'chain.json');
  }

  /**
   * The time of block 0 (Unix seconds) of the stored chain, whose snapshot is compacted; null when there is no chain
   * that can be continued. No node may have the file open.
   */
  open(): number | null {
    if (!existsSync(this.stateFile)) return null;
    try {
      const { genesisTimeSec } = JSON.parse(readFileSync(this.#identityFile, 'utf8')) as { genesisTimeSec: number };
      this.#compact();
      return genesisTimeSec;
    } catch {
      return null;
    }
  }

  /** Deletes the stored chain and starts a new one. */
  begin(genesisTimeSec: number): void {
    rmSync(this.stateFile, { force: true });
    rmSync(this.#journalFile, { force: true });
    writeFileSync(this.#identityFile, `${JSON.stringify({ genesisTimeSec })}\n`);
  }

  /** Blocks made after `number`, oldest first, without a gap. */
  blocksAfter(number: number): JournaledBlock[] {
    const blocks: JournaledBlock[] = [];
    for (const line of existsSync(this.#journalFile) ? readFileSync(this.#journalFile, 'utf8').split('\n') : []) {
      const block = parseLine(line);
      if (block?.number === number + blocks.length + 1) blocks.push(block);
    }
    return blocks;
  }

  append(block: JournaledBlock): void {
    appendFileSync(this.#journalFile, `${JSON.stringify(block)}\n`);
  }

  /** Replaces the snapshot with the output of `anvil_dumpState`; the journal starts anew after it. */
  async writeSnapshot(dump: string): Promise<void> {
    this.#replaceState(await unzip(Buffer.from(dump.slice(2), 'hex')));
    rmSync(this.#journalFile, { force: true });
  }

  /** Drops old blocks without transactions. */
  #compact(): void {
    const state = JSON.parse(readFileSync(this.stateFile, 'utf8')) as SavedState;
    const head = Number(state.best_block_number);
    const busy = state.blocks
      .filter(({ transactions }) => transactions.length > 0)
      .map(({ header }) => Number(header.number));
    const oldestBusy = busy.sort((a, b) => b - a)[BUSY_BLOCKS_KEPT - 1] ?? 0;
    state.blocks = state.blocks.filter(({ header, transactions }) => {
      const number = Number(header.number);
      return number <= 1 || number > head - RECENT_BLOCKS_KEPT || (transactions.length > 0 && number >= oldestBusy);
    });
    state.transactions = state.transactions.filter((transaction) => Number(transaction.block_number) >= oldestBusy);
    this.#replaceState(JSON.stringify(state));
  }

  #replaceState(content: string | Buffer): void {
    const temporary = `${this.stateFile}.new`;
    const file = openSync(temporary, 'w', 0o600);
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, this.stateFile);
  }
}

/** Null for a line truncated by a kill. */
function parseLine(line: string): JournaledBlock | null {
  try {
    return JSON.parse(line) as JournaledBlock;
  } catch {
    return null;
  }
}
