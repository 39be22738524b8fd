import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The journal's record of one executed transaction. `info` is its receipt without the block's time. */
export interface SealedTransaction {
  readonly blockNumber: number;
  readonly txId: string;
  readonly rawHex: string;
  readonly signatures: readonly string[];
  readonly info: FacadeReceipt;
}

/** A receipt as `gettransactioninfobyid` prints it; addresses in hex. */
export interface FacadeReceipt {
  readonly id: string;
  readonly fee?: number;
  readonly contractResult: readonly string[];
  readonly contract_address?: string;
  readonly receipt: Readonly<Record<string, number | string>>;
  readonly log?: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string }[];
  readonly result?: 'FAILED';
  readonly resMessage?: string;
}

export type JournalEntry =
  | ({ readonly kind: 'transaction' } & SealedTransaction)
  /** The blocks from here on were replaced; their transactions are gone. */
  | { readonly kind: 'fork'; readonly fromNumber: number; readonly salt: string }
  /** A call on behalf of the tokens' issuer, outside any block: freezing an account, pausing a token. */
  | { readonly kind: 'issuer'; readonly to: string; readonly data: string };

interface EvmSnapshot {
  /** Journal entries whose effect is included in `state`. */
  readonly entries: number;
  readonly state: string;
}

/**
 * The facade's chain on disk: one line per executed transaction, written before anyone can see it, so that a killed
 * process loses nothing. The EVM's state is saved occasionally, only to speed up the start.
 */
export class FacadeJournal {
  readonly #file: string;
  readonly #snapshotFile: string;
  readonly entries: JournalEntry[];
  #snapshotEntries: number;

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true });
    this.#file = join(directory, 'journal.jsonl');
    this.#snapshotFile = join(directory, 'evm-state.json');
    this.entries = readLines(this.#file);
    this.#snapshotEntries = 0;
  }

  append(entry: JournalEntry): void {
    appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
    this.entries.push(entry);
  }

  readSnapshot(): EvmSnapshot | null {
    if (!existsSync(this.#snapshotFile)) return null;
    const snapshot = JSON.parse(readFileSync(this.#snapshotFile, 'utf8')) as EvmSnapshot;
    this.#snapshotEntries = snapshot.entries;
    return snapshot;
  }

  writeSnapshot(state: string): void {
    writeFileSync(
      `${this.#snapshotFile}.new`,
      JSON.stringify({ entries: this.entries.length, state } satisfies EvmSnapshot),
    );
    renameSync(`${this.#snapshotFile}.new`, this.#snapshotFile);
    this.#snapshotEntries = this.entries.length;
  }

  get entriesSinceSnapshot(): number {
    return this.entries.length - this.#snapshotEntries;
  }
}

/** A last line without a line end was truncated by a kill: nobody has seen it, so it is dropped. */
export function readLines<Line>(file: string): Line[] {
  if (!existsSync(file)) return [];
  const bytes = readFileSync(file);
  const end = bytes.lastIndexOf(0x0a) + 1;
  if (end < bytes.length) truncateSync(file, end);
  return bytes
    .subarray(0, end)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}
