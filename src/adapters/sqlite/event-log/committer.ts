import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { canonicalText } from '../../../domain/events/canonical-text.ts';
import type { EncodedEvent, CoCommit } from '../../../ports/event-log/event-store.ts';
import { openEventsDatabase } from './event-schema.ts';
import type { LogSeals } from './log-seals.ts';
import { NONCE_LIFETIME_SEC } from '../nonces/nonce-memory.ts';
import { PersonalKeysFile, type SubjectSalt } from './personal-keys-file.ts';
import { faultOf } from '../fault.ts';
import { StreamNamesFile } from './stream-names-file.ts';
import type { Tail, StreamHead, AppendJob, JobOutcome, Commit } from './append-job.ts';
import { must } from '../../../domain/values/must.ts';
import { query } from '../database.ts';

const LONGEST_LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 0.2;
const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

/** Nonces between two removals of expired ones; each removal takes at most twice as many. */
const NONCE_SWEEP_INTERVAL = 512;

/**
 * Writes batches of appends in one transaction each. There are two committers, one per thread. The tail is handed to
 * whichever commits next, so both never write at once. A failed transaction leaves nothing behind and throws.
 */
export class Committer {
  readonly database: DatabaseSync;
  readonly #dataDir: string;
  readonly #seals: LogSeals | null;
  readonly #names: StreamNamesFile;
  readonly #statements: Statements;
  #personalKeys: PersonalKeysFile | null = null;
  #tail: Tail = { position: 0, chain: '' };
  #headsOfBatch = new Map<string, StreamHead>();
  #headsBefore = new Map<string, StreamHead>();
  #saltsOfBatch: SubjectSalt[] = [];
  /** The newest event: written once it is known whether it ends the batch, because the last one carries the seal. */
  #unwritten: EventRow | null = null;
  #noncesSinceSweep = NONCE_SWEEP_INTERVAL;

  /** Without `seals`, no process that has keys accepts what is written. */
  constructor(dataDir: string, seals: LogSeals | null = null) {
    this.#dataDir = dataDir;
    this.#seals = seals;
    this.database = openEventsDatabase(dataDir);
    this.#statements = prepareStatements(this.database);
    this.#names = StreamNamesFile.open(dataDir, (number) => this.#streamAt(number));
    this.database.exec('PRAGMA busy_timeout = 0');
  }

  /**
   * `tail`: the end of the log at the handover; null if this committer wrote the last batch itself. Only then may jobs
   * have been prepared during that batch, with the streams as they were before it.
   */
  commit(jobs: readonly AppendJob[], tail: Tail | null): Commit {
    const before = tail ?? this.#tail;
    this.#tail = before;
    this.#headsBefore = tail ? new Map<string, StreamHead>() : this.#headsOfBatch;
    this.#headsOfBatch = new Map();
    this.#saltsOfBatch = [];
    const statements = this.#statements;
    try {
      this.#begin();
      const outcomes = this.#names.together(() => jobs.map((job) => this.#apply(job)));
      if (this.#saltsOfBatch.length > 0) this.#storeSalts(this.#saltsOfBatch);
      this.#write(this.#seals?.seal(this.#tail) ?? null);
      statements.commit.run();
      return { outcomes, tail: this.#tail };
    } catch (error) {
      this.#tail = before;
      this.#unwritten = null;
      this.#headsOfBatch = this.#headsBefore;
      if (this.database.isTransaction) statements.rollback.run();
      throw error;
    }
  }

  close(): void {
    this.#personalKeys?.close();
    this.#names.close();
    this.database.close();
  }

  /** SQLite's own waiting sleeps for milliseconds; a checkpoint that restarts the WAL takes less. */
  #begin(): void {
    const deadlineMs = performance.now() + LONGEST_LOCK_WAIT_MS;
    for (;;) {
      try {
        this.#statements.begin.run();
        return;
      } catch (error) {
        if (faultOf(error).kind !== 'busy' || performance.now() > deadlineMs) throw error;
        Atomics.wait(NEVER_WOKEN, 0, 0, LOCK_POLL_MS);
      }
    }
  }

  #apply(job: AppendJob): JobOutcome {
    const fault = faultOfJob(job);
    if (fault) return { kind: 'faulty', message: fault };
    const head = this.#headsOfBatch.get(job.stream) ?? this.#headsBefore.get(job.stream) ?? job.head ?? this.#find(job);
    const actual = head?.revision ?? -1;
    if (job.expected !== actual) return this.#repeated(job, head) ?? { kind: 'refused', head };
    if (head && !names(must(job.events[0]), head.hash))
      return { kind: 'faulty', message: wrongPrev(must(job.events[0]), job.stream) };

    const number = head?.number ?? this.#tail.position + 1;
    let revision = job.expected;
    for (const event of job.events) this.#insert(job.stream, number, (revision += 1), event);
    const newHead = { number, revision, hash: must(job.events.at(-1)).hash };
    this.#headsOfBatch.set(job.stream, newHead);
    this.#storeCoCommits(job.coCommits, true);
    return { kind: 'appended', head: newHead, position: this.#tail.position };
  }

  /** Undefined if there is no such stream. */
  #find(job: AppendJob): StreamHead | undefined {
    const number = job.number ?? this.#names.numberOf(job.stream);
    if (number === null) return undefined;
    return { number, ...must(this.#statements.lastOfStream.get(number)) };
  }

  #streamAt(position: number): string | null {
    return this.#statements.streamAt.get(position)?.stream ?? null;
  }

  #insert(stream: string, number: number, revision: number, event: EncodedEvent): void {
    const position = this.#tail.position + 1;
    const chain = hash('sha256', this.#tail.chain + event.hash, 'hex');
    this.#write(null);
    const { id, type, version, atMs, data, metadata } = event;
    this.#unwritten = [
      ...([position, number, revision, stream, id, type] as const),
      ...([version, atMs, data, metadata, event.hash, chain] as const),
    ];
    this.#tail = { position, chain };
  }

  #write(seal: Uint8Array | null): void {
    if (this.#unwritten === null) return;
    this.#statements.insertEvent.run(...this.#unwritten, seal);
    this.#unwritten = null;
  }

  #eventAt(number: number, revision: number): { readonly id: string; readonly position: number } | undefined {
    const [position, ofStream, at, , id] = this.#unwritten ?? [];
    if (position !== undefined && id !== undefined && ofStream === number && at === revision) return { id, position };
    return this.#statements.findEvent.get(number, revision);
  }

  #repeated(job: AppendJob, head: StreamHead | undefined): JobOutcome | null {
    const last = job.expected + job.events.length;
    if (!head || head.revision < last) return null;
    let position = 0;
    for (const [index, event] of job.events.entries()) {
      const stored = must(this.#eventAt(head.number, job.expected + 1 + index));
      if (stored.id !== event.id) return null;
      position = stored.position;
    }
    this.#storeCoCommits(job.coCommits, false);
    return { kind: 'repeated', head, revision: last, position };
  }

  /** A repeated append has a new nonce, but its salt was stored the first time and may have been erased since. */
  #storeCoCommits(coCommits: readonly CoCommit[] | undefined, first: boolean): void {
    for (const coCommit of coCommits ?? []) {
      if (coCommit.kind === 'nonce') {
        const [digest, expiresAtSec] = coCommit.values as [Uint8Array, number];
        this.#statements.insertNonce.run(digest, expiresAtSec);
        this.#sweepNonces(expiresAtSec);
      } else if (first) {
        const [subject, salt] = coCommit.values as [string, Uint8Array];
        this.#saltsOfBatch.push({ subject, salt });
      }
    }
  }

  #sweepNonces(expiresAtSec: number): void {
    this.#noncesSinceSweep += 1;
    if (this.#noncesSinceSweep < NONCE_SWEEP_INTERVAL) return;
    this.#noncesSinceSweep = 0;
    this.#statements.sweepNonces.run(2 * NONCE_SWEEP_INTERVAL, expiresAtSec - NONCE_LIFETIME_SEC);
  }

  #storeSalts(salts: readonly SubjectSalt[]): void {
    this.#personalKeys ??= new PersonalKeysFile(this.#dataDir);
    this.#personalKeys.put(salts);
  }
}

type EventRow = readonly [
  ...[position: number, streamNumber: number, revision: number, stream: string, id: string, type: string],
  ...[version: number, atMs: number, data: string, metadata: string, hash: string, chain: string],
];

function faultOfJob({ stream, expected, events }: AppendJob): string | null {
  let revision = expected;
  let prev = expected < 0 ? '' : null;
  for (const event of events) {
    revision += 1;
    const { id, type, version, atMs, data, metadata } = event;
    const actual = hash('sha256', canonicalText({ stream, revision, id, type, version, atMs, data, metadata }), 'hex');
    if (actual !== event.hash)
      return `${type} was not encoded for revision ${revision} of ${stream}: its hash is not that of its text`;
    if (prev !== null && !names(event, prev)) return wrongPrev(event, stream);
    prev = event.hash;
  }
  return null;
}

/** An unescaped quote never occurs inside a JSON string, so the key can be found without parsing. */
const names = ({ metadata }: EncodedEvent, prev: string): boolean => metadata.includes(`"prev":"${prev}"`);

const wrongPrev = ({ type }: EncodedEvent, stream: string): string =>
  `metadata.prev of ${type} is not the hash of the event before it in ${stream}`;

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
  return {
    begin: database.prepare('BEGIN IMMEDIATE'),
    commit: database.prepare('COMMIT'),
    rollback: database.prepare('ROLLBACK'),
    lastOfStream: query<Omit<StreamHead, 'number'>>(
      database,
      'SELECT revision, hash FROM events WHERE stream_number = ? ORDER BY revision DESC LIMIT 1',
    ),
    findEvent: query<{ id: string; position: number }>(
      database,
      'SELECT id, position FROM events WHERE stream_number = ? AND revision = ?',
    ),
    streamAt: query<{ stream: string }>(database, 'SELECT stream FROM events WHERE position = ?'),
    insertEvent: database.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    insertNonce: database.prepare('INSERT INTO command_nonces (digest, expires_at_sec) VALUES (?, ?)'),
    sweepNonces: database.prepare(
      'DELETE FROM command_nonces WHERE number IN (SELECT number FROM command_nonces ORDER BY number LIMIT ?) AND expires_at_sec < ?',
    ),
  };
}
