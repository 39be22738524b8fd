/*
 * The log behind the double. Rules and where they come from; those with a test in
 * `test/contract/esdb-server-rules.test.ts` were seen on a server, too:
 * - expected revision and `NoStream`: developers.eventstore.com, gRPC clients, "Appending events", "Handling
 *   concurrency";
 * - idempotent replays: same page, "Idempotent writes"; the decision follows `IndexWriter.CheckCommit` of the server
 *   (every event id must
 *   be found at its revision, otherwise the answer is a wrong expected version);
 * - a deleted stream is as if it were not there, and a later append to it goes on with the next revision: same page,
 *   "Deleting streams";
 *   the mark is an event of the stream's metadata stream, `$$` and its name. A tombstone is an event of the stream
 * itself;
 * - positions grow with the bytes of the log and are no counter; `ClientMessage.WriteEventsCompleted` names one
 *   position for all events.
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

export class DoubleLog {
  readonly events: LoggedEvent[] = [];
  readonly #streams = new Map<string, LoggedEvent[]>();
  readonly #deletedBelow = new Map<string, number>();
  readonly #tombstones = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #nextPosition = 177n;
  readonly maxAppendBytes: number;

  constructor(rules: ServerRules = '23.10') {
    this.maxAppendBytes = maxAppendBytes(rules);
  }

  append(stream: string, expected: Expected, proposed: readonly ProposedEvent[]): AppendVerdict {
    if (proposed.reduce((sum, event) => sum + sizeOf(event), 0) > this.maxAppendBytes)
      return { ok: false, why: 'size', mostBytes: this.maxAppendBytes };
    const decided = this.#decide(stream, expected, proposed);
    if (decided) return decided;
    for (const event of proposed) this.#store(stream, BigInt(this.#stored(stream).length), event);
    this.#tell();
    return { ok: true, revision: this.#stored(stream).length - 1, position: this.events.at(-1)!.position };
  }

  stream(name: string): readonly LoggedEvent[] {
    return this.#stored(name).slice(this.#deletedBelow.get(name) ?? 0);
  }

  isTombstoned(name: string): boolean {
    return this.#tombstones.has(name);
  }

  delete(name: string, expected: Expected): AppendVerdict {
    const refused = this.#refuseToDelete(name, expected);
    if (refused) return refused;
    this.#deletedBelow.set(name, this.#stored(name).length);
    return this.#mark(
      `$$${name}`,
      BigInt(this.#stored(`$$${name}`).length),
      '$metadata',
      '{"$tb":9223372036854775807}',
    );
  }

  tombstone(name: string, expected: Expected): AppendVerdict {
    const refused = this.#refuseToDelete(name, expected);
    if (refused) return refused;
    this.#tombstones.add(name);
    return this.#mark(name, TOMBSTONE_REVISION, '$streamDeleted', '');
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
    const stored = this.#stored(stream);
    const current = stored.length - 1;
    const isDeleted = current >= 0 && this.stream(stream).length === 0;
    const refusal = { ok: false, why: 'revision', current, expected } as const;
    if (this.isTombstoned(stream) || (expected === 'stream-exists' && isDeleted))
      return { ok: false, why: 'tombstone' };
    if (expected === 'stream-exists' && current < 0) return refusal;
    if (typeof expected !== 'number') {
      const places = proposed.map(({ id }) => stored.findLastIndex((event) => event.id === id));
      if (places.length === 0 || places[0] === -1) return null;
      return places.includes(-1) ? refusal : this.#replayed(stream, places.at(-1)!);
    }
    if (expected >= current) return expected === current ? null : refusal;
    const known = proposed.map(({ id }, index) => stored[expected + 1 + index]?.id === id);
    if (known.length > 0 && known.every(Boolean)) return this.#replayed(stream, expected + proposed.length);
    return !known[0] && expected === -1 && isDeleted ? null : refusal;
  }

  #replayed(stream: string, revision: number): AppendVerdict {
    const isDeleted = revision < (this.#deletedBelow.get(stream) ?? 0);
    return { ok: true, revision, position: isDeleted ? null : this.#stored(stream)[revision]!.position };
  }

  #refuseToDelete(name: string, expected: Expected): AppendVerdict | null {
    if (this.isTombstoned(name)) return { ok: false, why: 'tombstone' };
    const current = this.#stored(name).length - 1;
    const fits = typeof expected === 'number' ? expected === current : current >= 0;
    return fits ? null : { ok: false, why: 'revision', current, expected };
  }

  #mark(stream: string, revision: bigint, type: string, data: string): AppendVerdict {
    const event = {
      id: crypto.randomUUID(),
      type,
      contentType: 'application/json',
      data: new Uint8Array(Buffer.from(data)),
      customMetadata: NOTHING,
    };
    this.#store(stream, revision, event);
    this.#tell();
    return { ok: true, revision: -1, position: this.events.at(-1)!.position };
  }

  #stored(stream: string): readonly LoggedEvent[] {
    return this.#streams.get(stream) ?? [];
  }

  #store(stream: string, revision: bigint, event: ProposedEvent): void {
    const stored = this.#streams.get(stream) ?? [];
    const logged = {
      ...event,
      stream,
      revision,
      position: this.#nextPosition,
      createdTicks: String(BigInt(Date.now()) * 10_000n),
    };
    this.#nextPosition += BigInt(stream.length + event.data.length + event.customMetadata.length + 100);
    stored.push(logged);
    this.#streams.set(stream, stored);
    this.events.push(logged);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** `Event.SizeOnDisk` of the server. */
const sizeOf = ({ type, data, customMetadata }: ProposedEvent): number =>
  data.length + customMetadata.length + 2 * type.length;
