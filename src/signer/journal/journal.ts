import { hash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JournalPlace, TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { OutflowFacts } from '../../domain/events/treasury-move-events.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { NativeCoin, Network } from '../../domain/networks/networks.ts';
import type { LogPlace } from '../../ports/signer/approvals.ts';
import type { OutgoingKind } from '../../ports/outgoing/transaction.ts';
import type { Limits } from '../policies/limits-in-force.ts';
import { holding, readWritten } from '../../domain/values/written-json.ts';
import { syncPath } from '../../runtime/files/sync-path.ts';
import { makeFolder } from '../../runtime/files/make-folder.ts';

/** The signer's actions in order. Units are 10^-18 of the coin, as decimal text. */
export type JournalFact =
  | {
      readonly kind: 'signed';
      /** What the transaction is for. */
      readonly purpose: OutgoingKind;
      readonly network: Network;
      readonly id: string;
      readonly attempt: number;
      readonly coin: Coin | NativeCoin;
      readonly units: string;
      readonly fromAddress: string;
      readonly toAddress: string;
      readonly draft: TransactionDraft;
      /** The deposits whose money it takes; empty if it takes none. */
      readonly takenFrom: readonly { readonly depositKey: string; readonly place: string; readonly units: string }[];
      readonly txHash: string;
      readonly signedBytes: string;
    }
  | { readonly kind: 'released'; readonly id: string; readonly reason: string }
  | {
      readonly kind: 'approved';
      /** Hash of the exact terms, without the proposer. */
      readonly terms: string;
      readonly proposedBy: string;
      readonly approver: string;
      /** The public key that signed. */
      readonly key: string;
      /** The number issued by the signer, valid once. */
      readonly number: string;
      /** A passkey's own signature counter; absent for other keys. */
      readonly passkey?: { readonly credentialId: string; readonly signCount: number };
    }
  /** Two people approved an entry by hand, whatever becomes of their keys. */
  | { readonly kind: 'agreed'; readonly terms: string; readonly approvers: readonly string[] }
  /** An outflow that nobody ordered, as reported. */
  | ({ readonly kind: 'outflow' } & Omit<OutflowFacts, 'mode'>)
  | {
      readonly kind: 'acknowledged';
      readonly network: Network;
      readonly outflowKeys: readonly string[];
      readonly reason: string;
      readonly approvers: readonly string[];
    }
  /** The new settlement address of a merchant, approved by two people. */
  | {
      readonly kind: 'destination';
      readonly network: Network;
      readonly merchantId: string;
      readonly address: string;
      readonly approvers: readonly string[];
    }
  /** The new limits. */
  | {
      readonly kind: 'limits';
      readonly limits: Limits;
      /** Nobody, where they allow no more than those before. */ readonly approvers: readonly string[];
    }
  | { readonly kind: 'stopped'; readonly by: string }
  | {
      readonly kind: 'resumed';
      readonly by: string;
      readonly approvers: readonly string[];
      /** Networks whose journal was lost, with the places of their event log; they continue from this entry. */
      readonly anew?: readonly LogPlace[];
    };

export type JournalEntry = JournalFact & {
  readonly seq: number;
  readonly prev: string;
  /** Monotonic, independent of the system clock. Unix milliseconds. */
  readonly atMs: number;
  readonly hash: string;
};

export type SignedEntry = Extract<JournalEntry, { kind: 'signed' }>;
export type OutflowEntry = Extract<JournalEntry, { kind: 'outflow' }>;
export type DestinationEntry = Extract<JournalEntry, { kind: 'destination' }>;

/** The journal was altered or damaged, so nothing may be signed with it. */
export class JournalBroken extends Error {
  override readonly name = 'JournalBroken';
}

const LOCK_WAIT_MS = 20_000;
/** Keeps references: garbage collection would close an unreferenced connection and drop its lock. */
const heldLocks = new Set<DatabaseSync>();

/**
 * Ensures that one signer at a time uses a journal, until `release` or the end of the process. Waits for a predecessor
 * that is still shutting down. Throws `JournalBroken`.
 */
export function lockJournals(directory: string): { release(): void } {
  makeFolder(directory);
  const database = new DatabaseSync(join(directory, 'lock.db'), { timeout: LOCK_WAIT_MS });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch {
    database.close();
    throw new JournalBroken(`another signer uses the journal in ${directory}`);
  }
  heldLocks.add(database);
  return {
    release: () => {
      heldLocks.delete(database);
      database.close();
    },
  };
}

/** Append-only, hash-chained, and synced before anything that it records leaves the signer. */
export class Journal {
  readonly #file: number;
  readonly #headPath: string;
  readonly #entries: JournalEntry[];
  #bytes: number;
  /** When the newest entry was written or read, on the monotonic clock. */
  #sinceMs = performance.now();

  private constructor(file: number, headPath: string, entries: JournalEntry[], bytes: number) {
    this.#file = file;
    this.#headPath = headPath;
    this.#entries = entries;
    this.#bytes = bytes;
  }

  /**
   * Reads and verifies the whole chain. An incomplete last line from a crash was never answered and is dropped. Throws
   * `JournalBroken`.
   */
  static open(path: string): Journal {
    makeFolder(dirname(path));
    const { whole, entries } = readJournal(path);
    const headPath = `${path}.head`;
    assertWhole(entries, headPath);
    const file = openSync(path, 'a', 0o600);
    const bytes = Buffer.byteLength(whole);
    if (fstatSync(file).size !== bytes) ftruncateSync(file, bytes);
    syncPath(dirname(path));
    return new Journal(file, headPath, entries, bytes);
  }

  get entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  /**
   * The journal's own monotonic time: `nowMs` (Unix milliseconds), or the newest entry's time plus the time elapsed
   * since. After a clock that ran ahead was corrected, time must not stand still at the newest entry.
   */
  timeMs(nowMs: number): number {
    const newestMs = this.#entries.at(-1)?.atMs;
    return newestMs === undefined ? nowMs : Math.max(nowMs, newestMs + Math.floor(performance.now() - this.#sinceMs));
  }

  get place(): JournalPlace | null {
    return placeOf(this.#entries.at(-1));
  }

  /**
   * Durable when it returns, without effect when it throws. Throws `JournalBroken` if somebody else wrote to the file.
   */
  append(fact: JournalFact, nowMs: number): JournalEntry {
    if (fstatSync(this.#file).size !== this.#bytes) throw new JournalBroken('another process wrote to the journal');
    const last = this.#entries.at(-1);
    const body = { seq: (last?.seq ?? 0) + 1, prev: last?.hash ?? '', atMs: this.timeMs(nowMs), ...fact };
    const entry: JournalEntry = { ...body, hash: hashOf(body) };
    const line = Buffer.from(`${JSON.stringify(entry)}\n`);
    try {
      // A write to a disk that fills up may be short without an error.
      for (let written = 0; written < line.length;) written += writeSync(this.#file, line, written);
      fsyncSync(this.#file);
    } catch (error) {
      this.#takeBack();
      throw error;
    }
    this.#bytes += line.length;
    this.#entries.push(entry);
    this.#sinceMs = performance.now();
    this.#keepHead(entry);
    return entry;
  }

  /**
   * Recorded beside the journal, so that a truncated journal or an older copy is noticed. A stale head proves less, but
   * nothing wrong.
   */
  #keepHead({ seq, hash: own }: JournalEntry): void {
    const next = `${this.#headPath}.next`;
    try {
      writeFileSync(next, JSON.stringify({ seq, hash: own }), { mode: 0o600, flush: true });
      renameSync(next, this.#headPath);
    } catch {
      // The entry is durable, which is enough.
    }
  }

  /** The failed entry was never reported, so it may be removed. */
  #takeBack(): void {
    try {
      ftruncateSync(this.#file, this.#bytes);
    } catch {
      // The next entry finds the file longer than expected and refuses.
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** All complete lines and their entries; empty if there is no file. Throws `JournalBroken`. */
export function readJournal(path: string): { readonly whole: string; readonly entries: JournalEntry[] } {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const entries = whole.split('\n').slice(0, -1).map(parseEntry);
  entries.forEach((entry, index) => assertChained(entry, entries[index - 1]));
  return { whole, entries };
}

/** Throws `JournalBroken` if the journal lacks the newest entry recorded in this directory. */
function assertWhole(entries: readonly JournalEntry[], headPath: string): void {
  if (!existsSync(headPath)) return;
  const { seq, hash: head } = parseHead(readFileSync(headPath, 'utf8'));
  if (entries[seq - 1]?.hash !== head)
    throw new JournalBroken(
      `the journal lacks entry ${seq}, which was written: it was truncated or is an older copy; restore the newest one`,
    );
}

function parseHead(text: string): JournalPlace {
  try {
    return readWritten(text, holding<JournalPlace>('seq', 'hash'));
  } catch {
    throw new JournalBroken('the head kept beside the journal cannot be read');
  }
}

export const placeOf = (entry: JournalEntry | undefined): JournalPlace | null =>
  entry ? { seq: entry.seq, hash: entry.hash } : null;

const hashOf = (body: object): string => hash('sha256', JSON.stringify(body), 'hex');

function parseEntry(line: string): JournalEntry {
  try {
    return readWritten(line, holding<JournalEntry>('kind', 'seq', 'prev', 'atMs', 'hash'));
  } catch {
    throw new JournalBroken('the journal contains a line that is not an entry');
  }
}

function assertChained(entry: JournalEntry, previous: JournalEntry | undefined): void {
  const { hash: claimed, ...body } = entry;
  const follows =
    entry.seq === (previous?.seq ?? 0) + 1 &&
    entry.prev === (previous?.hash ?? '') &&
    entry.atMs >= (previous?.atMs ?? 0);
  if (!follows || hashOf(body) !== claimed)
    throw new JournalBroken(`entry ${entry.seq} of the journal does not follow from the one before it`);
}
