/*
 * The log behind the double. Rules and where they come from; those with a test in
 * `test/contract/esdb-server-rules.test.ts` were seen on a server, too:
 * - expected revision and `NoStream`: developers.eventstore.com, gRPC clients, "Appending events", "Handling
 *   concurrency";
 * - idempotent replays: same page, "Idempotent writes"; the decision follows `IndexWriter.CheckCommit` of the server
 *   (every event id must be found at its revision, otherwise the answer is a wrong expected version);
 * - a deleted stream is as if it were not there, and a later append to it goes on with the next revision: same page,
 *   "Deleting streams";
 *   the mark is an event of the stream's metadata stream, `$$` and its name. A tombstone is an event of the stream
 * itself;
 * - positions grow with the bytes of the log and are no counter; `ClientMessage.WriteEventsCompleted` names one
 *   position for all events;
 * - what was written decides about further appends at once, and can be read only once the cluster has replicated and
 *   indexed it (seen with three nodes of KurrentDB 26.1.0); a replay of events that cannot be read yet is not answered
 *   (`StorageWriterService`, `CommitDecision.IdempotentNotReady`).
 */
export interface LoggedEvent {
  readonly id: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly position: bigint;
  readonly type: string;
  readonly contentType: string;
  readonly createdTicks: string;
  readonly data: Uint8Array;
  readonly customMetadata: Uint8Array;
}

export interface ProposedEvent {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly customMetadata: Uint8Array;
}

/** A revision, or a word of streams.proto; -1 stands for `NoStream`. */
export type Expected = number | 'any' | 'stream-exists';

export type AppendVerdict =
  /** No position: the events that a replay names lie in the deleted part of the stream. */
  | { readonly ok: true; readonly revision: number; readonly position: bigint | null }
  | { readonly ok: false; readonly why: 'revision'; readonly current: number; readonly expected: Expected }
  | { readonly ok: false; readonly why: 'tombstone' }
  | { readonly ok: false; readonly why: 'not-ready' }
  | { readonly ok: false; readonly why: 'size'; readonly mostBytes: number };

/**
 * The generation of servers whose rules are kept; they differ in `MaxAppendSize` and in what a place between two
 * records is.
 */
export type ServerRules = '23.10' | '24.10' | '25.1';

/** The server's default of `MaxAppendSize`, in bytes: of its own, and of a whole chunk since 25.1. */
const maxAppendBytes = (rules: ServerRules): number => (rules === '25.1' ? 256 : 1) * 1024 * 1024;
const TOMBSTONE_REVISION = 2n ** 63n - 1n;
const NOTHING = new Uint8Array(0);

/** Between a write and the moment that it can be read. */
const READABLE_AFTER_MS = 5;

export class DoubleLog {
  /** What can be read. */
  readonly events: LoggedEvent[] = [];
  readonly #written = new Map<string, LoggedEvent[]>();
  readonly #deletedBelow = new Map<string, number>();
  readonly #tombstones = new Set<string>();
  readonly #readable = {
    counts: new Map<string, number>(),
    deletedBelow: new Map<string, number>(),
    tombstones: new Set<string>(),
  };
  readonly #listeners = new Set<() => void>();
  readonly #unreadable: (() => void)[] = [];
  #isHeld = false;
  #nextPosition = 177n;
  readonly #readableAfterMs: number;
  readonly maxAppendBytes: number;

  constructor(rules: ServerRules = '23.10', readableAfterMs = READABLE_AFTER_MS) {
    this.maxAppendBytes = maxAppendBytes(rules);
    this.#readableAfterMs = readableAfterMs;
  }

  append(stream: string, expected: Expected, proposed: readonly ProposedEvent[]): AppendVerdict {
    if (proposed.reduce((sum, event) => sum + sizeOf(event), 0) > this.maxAppendBytes)
      return { ok: false, why: 'size', mostBytes: this.maxAppendBytes };
    const decided = this.#decide(stream, expected, proposed);
    if (decided) return decided;
    const logged = proposed.map((event) => this.#write(stream, BigInt(this.#writtenOf(stream).length), event));
    this.#readLater(() => this.#show(logged));
    return { ok: true, revision: this.#writtenOf(stream).length - 1, position: logged.at(-1)!.position };
  }

  /** What was written until now is readable when it resolves, as it is before the server answers. */
  readable(): Promise<void> {
    return new Promise((resolve) => this.#readLater(resolve));
  }

  /** Nothing further becomes readable until `release`: a cluster that has lost its majority. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    for (const show of this.#unreadable.splice(0)) show();
  }

  stream(name: string): readonly LoggedEvent[] {
    return this.#writtenOf(name).slice(
      this.#readable.deletedBelow.get(name) ?? 0,
      this.#readable.counts.get(name) ?? 0,
    );
  }

  isTombstoned(name: string): boolean {
    return this.#readable.tombstones.has(name);
  }

  delete(name: string, expected: Expected): AppendVerdict {
    const refused = this.#refuseToDelete(name, expected);
    if (refused) return refused;
    const below = this.#writtenOf(name).length;
    this.#deletedBelow.set(name, below);
    const marks = `$$${name}`;
    const revision = BigInt(this.#writtenOf(marks).length);
    return this.#mark(marks, revision, '$metadata', '{"$tb":9223372036854775807}', () =>
      this.#readable.deletedBelow.set(name, below),
    );
  }

  tombstone(name: string, expected: Expected): AppendVerdict {
    const refused = this.#refuseToDelete(name, expected);
    if (refused) return refused;
    this.#tombstones.add(name);
    return this.#mark(name, TOMBSTONE_REVISION, '$streamDeleted', '', () => this.#readable.tombstones.add(name));
  }

  /** Where the first event after a position is. */
  indexAfter(position: bigint): number {
    let from = 0;
    let to = this.events.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.events[middle]!.position > position) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /** Whether a position lies inside of the log and no record begins there. */
  isBetweenRecords(position: bigint): boolean {
    const last = this.events.at(-1);
    return (
      last !== undefined &&
      position < last.position &&
      this.events[this.indexAfter(position) - 1]?.position !== position
    );
  }

  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As `IndexWriter.CheckCommit` does since 23.10, in its order; null: the events are new and in place. */
  #decide(stream: string, expected: Expected, proposed: readonly ProposedEvent[]): AppendVerdict | null {
    const written = this.#writtenOf(stream);
    const current = written.length - 1;
    const isDeleted = current >= 0 && current < (this.#deletedBelow.get(stream) ?? 0);
    const refusal = { ok: false, why: 'revision', current, expected } as const;
    if (this.#tombstones.has(stream) || (expected === 'stream-exists' && isDeleted))
      return { ok: false, why: 'tombstone' };
    if (expected === 'stream-exists' && current < 0) return refusal;
    if (typeof expected !== 'number') {
      const places = proposed.map(({ id }) => written.findLastIndex((event) => event.id === id));
      if (places.length === 0 || places[0] === -1) return null;
      return places.includes(-1) ? refusal : this.#replayed(stream, places.at(-1)!);
    }
    if (expected >= current) return expected === current ? null : refusal;
    const known = proposed.map(({ id }, index) => written[expected + 1 + index]?.id === id);
    if (known.length > 0 && known.every(Boolean)) return this.#replayed(stream, expected + proposed.length);
    return !known[0] && expected === -1 && isDeleted ? null : refusal;
  }

  #replayed(stream: string, revision: number): AppendVerdict {
    if (revision >= (this.#readable.counts.get(stream) ?? 0)) return { ok: false, why: 'not-ready' };
    const isDeleted = revision < (this.#deletedBelow.get(stream) ?? 0);
    return { ok: true, revision, position: isDeleted ? null : this.#writtenOf(stream)[revision]!.position };
  }

  #refuseToDelete(name: string, expected: Expected): AppendVerdict | null {
    if (this.#tombstones.has(name)) return { ok: false, why: 'tombstone' };
    const current = this.#writtenOf(name).length - 1;
    const fits = typeof expected === 'number' ? expected === current : current >= 0;
    return fits ? null : { ok: false, why: 'revision', current, expected };
  }

  #mark(stream: string, revision: bigint, type: string, data: string, show: () => unknown): AppendVerdict {
    const logged = this.#write(stream, revision, {
      id: crypto.randomUUID(),
      type,
      contentType: 'application/json',
      data: new Uint8Array(Buffer.from(data)),
      customMetadata: NOTHING,
    });
    this.#readLater(() => {
      show();
      this.#show([logged]);
    });
    return { ok: true, revision: -1, position: logged.position };
  }

  #writtenOf(stream: string): readonly LoggedEvent[] {
    return this.#written.get(stream) ?? [];
  }

  #write(stream: string, revision: bigint, event: ProposedEvent): LoggedEvent {
    const written = this.#written.get(stream) ?? [];
    const logged = {
      ...event,
      stream,
      revision,
      position: this.#nextPosition,
      createdTicks: String(BigInt(Date.now()) * 10_000n),
    };
    this.#nextPosition += BigInt(stream.length + event.data.length + event.customMetadata.length + 100);
    written.push(logged);
    this.#written.set(stream, written);
    return logged;
  }

  #show(logged: readonly LoggedEvent[]): void {
    this.events.push(...logged);
    for (const { stream } of logged) this.#readable.counts.set(stream, (this.#readable.counts.get(stream) ?? 0) + 1);
    for (const listener of this.#listeners) listener();
  }

  /** In the order of the calls. */
  #readLater(show: () => void): void {
    this.#unreadable.push(show);
    if (this.#readableAfterMs === 0) this.#showNext();
    else setTimeout(() => this.#showNext(), this.#readableAfterMs);
  }

  #showNext(): void {
    if (!this.#isHeld) this.#unreadable.shift()?.();
  }
}

/** `Event.SizeOnDisk` of the server. */
const sizeOf = ({ type, data, customMetadata }: ProposedEvent): number =>
  data.length + customMetadata.length + 2 * type.length;
