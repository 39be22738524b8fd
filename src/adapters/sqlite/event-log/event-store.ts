import {
  type AppendRequest,
  type AppendResult,
  type EventStore,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
  StoreUnavailable,
  type SubscribeOptions,
  type Subscription,
} from '../../../ports/event-log/event-store.ts';
import { Anchor } from './anchor.ts';
import { mistakeIn } from './append-request.ts';
import { CatchUpSubscription, type LogSource, type SourcePage } from './catch-up-subscription.ts';
import { Committer } from './committer.ts';
import { createDataDir } from '../database.ts';
import { openDamagedEventStore } from './damaged-event-store.ts';
import { EventReader, readAll, type TailCheck } from './event-reader.ts';
import { type Committed, GroupWriter } from './group-writer.ts';
import { EVENTS_FILE } from './event-schema.ts';
import { type Checkpoints, Housekeeping } from './housekeeping.ts';
import { assertUndamaged, LogDamaged } from './log-check.ts';
import { LogSeals } from './log-seals.ts';
import type { UsedNonce } from '../nonces/nonces-file.ts';
import { PERSONAL_KEYS_FILE } from './personal-keys-file.ts';
import { toPosition } from './position.ts';
import { RecentEvents } from './recent-events.ts';
import { faultOf, isDamaged, type SqliteFault } from '../fault.ts';
import { catchUpStreamNames, StreamNames } from './stream-names.ts';
import { StreamBeginsTwice, StreamNamesFile } from './stream-names-file.ts';
import { acquireWriterLock, type WriterLock } from '../writer-lock.ts';
import type { KeyList } from '../../../runtime/cryptography/sealing.ts';
import { must } from '../../../domain/values/must.ts';

/** WAL bytes that a commit writes in addition to its texts: about four pages. */
const COMMIT_OVERHEAD_BYTES = 16 * 1024;

export interface SqliteEventStoreOptions {
  /** Created if absent. */
  readonly dataDir: string;
  /**
   * Keys from outside the data directory: what they did not seal is refused, and they seal what is written. Without
   * them nothing is verified, and nothing that is written is accepted by a process that has some.
   */
  readonly sealKeys?: KeyList;
  /** A log that ends here is opened although its seal does not hold: somebody answers for it. */
  readonly acceptedEnd?: number;
  /** Called with each failed attempt of a subscription's handler, which is repeated with backoff. */
  readonly onSubscriptionError?: (name: string, error: unknown, attempt: number) => void;
  /**
   * Called once when the store has failed permanently (a failed sync, an I/O error). The process should then end by
   * `process.exit`, which closes no connection: closing the last one would checkpoint, and so repeat the failed sync.
   */
  readonly onFatal?: (error: StoreUnavailable) => void;
  /** Opens a damaged log for reading: appends are refused, and `refusal` says why. */
  readonly readDamaged?: boolean;
}

export interface SqliteEventStore extends EventStore {
  /** For the other files of the data directory. */
  readonly checkpoints: Checkpoints;
  /** Verifies hashes and chain of the last `count` events. */
  verifyTail(count: number): TailCheck;
  /** Why appends are refused; null while they are accepted. */
  readonly refusal: string | null;
  /** Refuses every append from now on; running ones are still committed. */
  refuseAppends(reason: string): void;
  /** Nonces committed with commands that were not expired at the time. */
  commandNonces(nowSec: number): Iterable<UsedNonce>;
}

/**
 * Opens the log for writing and holds the data directory's writer lock until `close`. Throws `DataDirInUse` if another
 * process holds it, and `LogDamaged` if the end of the log fails verification or the log is shorter than its anchor.
 */
export async function openSqliteEventStore(options: SqliteEventStoreOptions): Promise<SqliteEventStore> {
  createDataDir(options.dataDir);
  const lock = acquireWriterLock(options.dataDir);
  try {
    return new WritableEventStore(options, lock);
  } catch (error) {
    try {
      if (options.readDamaged && isDamage(error)) return await openDamagedEventStore(options.dataDir, error, lock);
    } catch (unreadable) {
      lock.release();
      throw unreadable;
    }
    lock.release();
    throw error;
  }
}

const isDamage = (error: unknown): boolean =>
  error instanceof LogDamaged || error instanceof StreamBeginsTwice || isDamaged(error);

class WritableEventStore implements SqliteEventStore, LogSource {
  readonly #options: SqliteEventStoreOptions;
  readonly #lock: WriterLock;
  readonly #reader: EventReader;
  readonly #committer: Committer;
  readonly #writer: GroupWriter;
  readonly #anchor: Anchor;
  readonly #housekeeping: Housekeeping;
  readonly #names: StreamNames;
  readonly #recent: RecentEvents;
  readonly #subscriptions = new Set<CatchUpSubscription>();
  #failure: StoreUnavailable | null = null;
  #closing: Promise<void> | null = null;
  #refusal: string | null = null;
  /** Position of the newest event that subscribers may see. */
  #head: number;

  constructor(options: SqliteEventStoreOptions, lock: WriterLock) {
    const { dataDir } = options;
    this.#options = options;
    this.#lock = lock;
    this.#anchor = new Anchor(dataDir);
    StreamNamesFile.removeUnusable(dataDir);
    const { sealKeys = null } = options;
    const seals = sealKeys && new LogSeals(sealKeys);
    this.#committer = new Committer(dataDir, seals);
    // Reads share a connection, and so cached pages, with this thread's committer.
    this.#reader = new EventReader(this.#committer.database);
    const namesFile = StreamNamesFile.open(dataDir, (number) => this.#reader.streamAt(number));
    try {
      this.#checkEnd(options, seals);
      catchUpStreamNames(namesFile, this.#reader);
    } catch (error) {
      namesFile.close();
      this.#committer.close();
      throw error;
    }
    const tail = this.#reader.tail();
    this.#head = tail.position;
    this.#recent = new RecentEvents(tail.position);
    this.#housekeeping = new Housekeeping(dataDir);
    this.#names = new StreamNames(namesFile, this.#housekeeping, tail, (fault) => this.#fail(fault));
    this.#writer = new GroupWriter({
      dataDir,
      committer: this.#committer,
      sealKeys,
      tail,
      names: this.#names,
      onCommitted: (committed) => this.#publish(committed),
      onFatal: (fault) => this.#fail(fault),
    });
  }

  #checkEnd({ dataDir, acceptedEnd, readDamaged = false }: SqliteEventStoreOptions, seals: LogSeals | null): void {
    try {
      const isAccepted = acceptedEnd !== undefined && acceptedEnd === this.#reader.tail().position;
      assertUndamaged(this.#reader, this.#anchor, dataDir, isAccepted ? null : seals);
    } catch (error) {
      if (!readDamaged || !(error instanceof LogDamaged)) throw error;
      this.#refusal = error.message;
    }
  }

  get checkpoints(): Checkpoints {
    return this.#housekeeping;
  }

  get refusal(): string | null {
    return this.#refusal;
  }

  refuseAppends(reason: string): void {
    this.#refusal ??= reason;
  }

  append(request: AppendRequest): Promise<AppendResult> {
    const mistake =
      mistakeIn(request) ??
      (this.#refusal === null ? null : new StoreUnavailable(`nothing is written: ${this.#refusal}`));
    if (mistake) return Promise.reject(mistake);
    return this.#writer.append(request);
  }

  async readStream(
    stream: string,
    range: { readonly from?: number; readonly limit?: number } = {},
  ): Promise<RecordedEvent[]> {
    return this.#reading(() => {
      const number = this.#names.numberOf(stream);
      return number === null ? [] : this.#reader.stream(number, range.from ?? 0, range.limit ?? -1);
    });
  }

  async lastOfStream(stream: string): Promise<RecordedEvent | null> {
    return this.#reading(() => {
      const number = this.#names.numberOf(stream);
      return number === null ? null : this.#reader.lastOfStream(number);
    });
  }

  async readAll(options: ReadAllOptions): Promise<RecordedEvent[]> {
    this.#assertUsable();
    try {
      return await readAll(this.#reader, options, this.#head);
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  subscribe(options: SubscribeOptions): Subscription {
    this.#assertUsable();
    const subscription = new CatchUpSubscription(options, this, {
      onError: (name, error, attempt) => this.#options.onSubscriptionError?.(name, error, attempt),
      onAdvanced: () => this.#forget(),
      onClosed: (closed) => this.#subscriptions.delete(closed),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async head(): Promise<Position | null> {
    this.#assertUsable();
    return toPosition(this.#head);
  }

  verifyTail(count: number): TailCheck {
    return this.#reading(() => this.#reader.verifyTail(count));
  }

  commandNonces(nowSec: number): Iterable<UsedNonce> {
    return this.#reading(() => this.#reader.commandNonces(nowSec));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#writer.close();
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    await this.#names.close();
    await this.#housekeeping.close();
    if (this.#failure) {
      ABANDONED.push(this.#committer);
    } else {
      if (this.#refusal === null) await this.#anchor.close();
      this.#committer.close();
    }
    this.#lock.release();
  }

  /** For subscriptions: position of the newest committed event, 0 if there is none. */
  get end(): number {
    return this.#head;
  }

  /** For subscriptions: served from memory while the position is recent. */
  pageAfter(after: number, window: number, prefixes: readonly string[] | undefined): SourcePage {
    const recent = this.#recent.after(after, window);
    if (recent === null)
      return { ...this.#reading(() => this.#reader.page(after, window, prefixes, this.#head)), fromFile: true };
    const events = prefixes
      ? recent.filter(({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix)))
      : recent;
    return { events, through: after + recent.length, fromFile: false };
  }

  #publish(committed: Committed): void {
    const { after, tail, characters } = committed;
    if (tail.position > after) {
      if (this.#isFollowed()) this.#recent.push(recordedEvents(committed));
      else this.#recent.skipTo(tail.position);
      this.#head = tail.position;
      this.#forget();
      this.#anchor.note(tail);
      for (const subscription of this.#subscriptions) subscription.notify();
    }
    this.#housekeeping.note(EVENTS_FILE, characters + COMMIT_OVERHEAD_BYTES);
    if (hasSalts(committed)) this.#housekeeping.note(PERSONAL_KEYS_FILE, COMMIT_OVERHEAD_BYTES);
  }

  /** Whether any subscriber reads from memory; the others read the file until they reach its end. */
  #isFollowed(): boolean {
    for (const { through } of this.#subscriptions) if (this.#recent.reachesBackTo(through)) return true;
    return false;
  }

  /**
   * Drops the recent events that every subscriber in memory has seen. Those reading the file return to memory when they
   * reach its end.
   */
  #forget(): void {
    let through = this.#head;
    for (const subscription of this.#subscriptions)
      if (this.#recent.reachesBackTo(subscription.through)) through = Math.min(through, subscription.through);
    this.#recent.forget(through);
  }

  #fail(fault: SqliteFault): void {
    if (this.#failure) return;
    this.#failure = new StoreUnavailable(`the event store failed and must be reopened: ${fault.message}`);
    this.#options.onFatal?.(this.#failure);
  }

  #reading<Result>(read: () => Result): Result {
    this.#assertUsable();
    try {
      return read();
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  #unavailable(error: unknown): StoreUnavailable {
    return error instanceof StoreUnavailable ? error : new StoreUnavailable(faultOf(error).message);
  }

  #assertUsable(): void {
    if (this.#failure) throw this.#failure;
    if (this.#closing) throw new StoreUnavailable('the event store is closed');
  }
}

const hasSalts = ({ jobs }: Committed): boolean =>
  jobs.some(({ coCommits }) => coCommits?.some(({ kind }) => kind === 'personal-key'));

/** Connections of failed stores, which must not be closed. */
const ABANDONED: Committer[] = [];

function recordedEvents({ jobs, outcomes }: Committed): RecordedEvent[] {
  const recorded: RecordedEvent[] = [];
  outcomes.forEach((outcome, index) => {
    if (outcome.kind !== 'appended') return;
    const { stream, events } = must(jobs[index]);
    const revision = outcome.head.revision - events.length + 1;
    const position = outcome.position - events.length + 1;
    events.forEach(({ id, type, version, atMs, data, metadata, hash }, offset) => {
      recorded.push({
        stream,
        revision: revision + offset,
        position: String(position + offset),
        id,
        type,
        version,
        atMs,
        data,
        metadata,
        hash,
      });
    });
  });
  return recorded;
}
