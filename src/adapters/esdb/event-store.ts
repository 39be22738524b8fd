import {
  type AppendRequest,
  type AppendResult,
  DamagedEvent,
  type EventStore,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
  StoreUnavailable,
  type SubscribeOptions,
  type Subscription,
} from '../../ports/event-log/event-store.ts';
import { hashRecorded } from '../../runtime/commands/codec.ts';
import type { ProposedEvent } from './client/messages.ts';
import { EsdbConnection } from './connection.ts';
import { toServerEvent } from './event-format.ts';
import { isFault } from './faults.ts';
import { isSet, positionText } from './position.ts';
import { EsdbReader } from './reader.ts';
import { StreamNames } from './stream-names.ts';
import { EsdbSubscription, type SubscriptionTimes } from './subscription.ts';

export interface EsdbEventStoreOptions {
  /** `esdb://user:password@a:2113,b:2113,c:2113?tls=true` (`client/settings.ts`). */
  readonly connectionString: string;
  /** Prefix of every stream's name on the server, so that installations can share one (default none). */
  readonly namespace?: string;
  /** Time limit of one call (default 3,000 ms). */
  readonly attemptMs?: number;
  /** Time limit of a call with its retries (default 12,000 ms). */
  readonly totalMs?: number;
  /** Maximum number of concurrent appends; more are refused with `StoreUnavailable` (default 2,048). */
  readonly maxAppends?: number;
  readonly subscriptionTimes?: Partial<SubscriptionTimes>;
  /** Called with every failure of a subscription: handler, connection, or damage. Never contains secrets. */
  readonly onSubscriptionError?: (name: string, error: unknown, attempt: number) => void;
}

/** The server's default of `MaxAppendSize`, which counts data, metadata and two bytes per character of the type. */
const MAX_APPEND_BYTES = 1024 * 1024;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,511}$/;

/**
 * Opens the event log on an EventStoreDB or KurrentDB server, 23.10 or newer. Rejects with `StoreUnavailable` if no
 * server answers.
 */
export async function openEsdbEventStore(options: EsdbEventStoreOptions): Promise<EventStore> {
  const store = new EsdbEventStore(options);
  try {
    await store.head();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class EsdbEventStore implements EventStore {
  readonly #options: EsdbEventStoreOptions;
  readonly #names: StreamNames;
  readonly #connection: EsdbConnection;
  readonly #reader: EsdbReader;
  readonly #subscriptions = new Set<EsdbSubscription>();
  #appends = 0;

  constructor(options: EsdbEventStoreOptions) {
    this.#options = options;
    this.#names = new StreamNames(options.namespace);
    this.#connection = new EsdbConnection(options.connectionString, {
      attemptMs: options.attemptMs ?? 3_000,
      totalMs: options.totalMs ?? 12_000,
    });
    this.#reader = new EsdbReader(this.#connection, this.#names);
  }

  async append(request: AppendRequest): Promise<AppendResult> {
    checkAppend(request);
    if (this.#appends >= (this.#options.maxAppends ?? 2_048))
      throw new StoreUnavailable('too many appends are under way');
    this.#appends += 1;
    try {
      return await this.#append(request);
    } finally {
      this.#appends -= 1;
    }
  }

  readStream(
    stream: string,
    { from = 0, limit = Infinity }: { readonly from?: number; readonly limit?: number } = {},
  ): Promise<RecordedEvent[]> {
    return this.#reader.stream(stream, from, limit);
  }

  lastOfStream(stream: string): Promise<RecordedEvent | null> {
    return this.#reader.last(stream);
  }

  readAll(options: ReadAllOptions): Promise<RecordedEvent[]> {
    return this.#reader.all(options);
  }

  subscribe(options: SubscribeOptions): Subscription {
    if (this.#connection.closed) throw new StoreUnavailable('the event store is closed');
    const subscription = new EsdbSubscription(options, {
      connection: this.#connection,
      reader: this.#reader,
      names: this.#names,
      times: this.#options.subscriptionTimes ?? {},
      onError: (error, attempt) => this.#options.onSubscriptionError?.(options.name, error, attempt),
      onClosed: () => this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  head(): Promise<Position | null> {
    return this.#reader.head();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    await this.#connection.close();
  }

  /**
   * After an unknown outcome the same ids are sent at the same revision again: the server answers a repetition like the
   * first time.
   */
  async #append({ stream, expected, events }: AppendRequest): Promise<AppendResult> {
    const proposed = events.map(toServerEvent);
    if (bytesOf(proposed) > MAX_APPEND_BYTES)
      throw new TypeError(`the append to stream ${stream} has more than ${MAX_APPEND_BYTES} bytes`);
    try {
      const stored = await this.#connection.run(`appending to stream ${stream}`, (client) =>
        client.append({
          stream: this.#names.onServer(stream),
          expected: expected === 'no-stream' ? expected : BigInt(expected),
          events: proposed,
          deadlineMs: this.#connection.attemptMs,
        }),
      );
      const revision = firstRevision(expected) + events.length - 1;
      // A deleted stream accepts "no stream" and continues after its old revisions.
      if (stored.revision !== BigInt(revision))
        throw new DamagedEvent(
          `stream ${stream} was deleted: an append at its beginning became revision ${stored.revision}`,
        );
      // With several events, and for repetitions on older servers, the response has a different position than that of
      // the last event.
      if (events.length === 1 && stored.position && isSet(stored.position))
        return { ok: true, revision, position: positionText(stored.position) };
      return { ok: true, revision, position: await this.#positionAt(stream, revision) };
    } catch (error) {
      if (!isFault(error, 'wrong-revision')) throw error;
      if (error.current === null) return { ok: false, actual: -1 };
      const actual = Number(error.current);
      await this.#positionAt(stream, actual);
      return { ok: false, actual };
    }
  }

  /** Waits until the event can be read. */
  #positionAt(stream: string, revision: number): Promise<Position> {
    return this.#connection.found(`revision ${revision} of stream ${stream}`, () =>
      this.#reader.positionAt(stream, revision),
    );
  }
}

function checkAppend({ stream, expected, events, coCommits }: AppendRequest): void {
  if (!NAME.test(stream)) throw new TypeError('a stream has a name of letters, digits and _.:-');
  if (expected !== 'no-stream' && !(Number.isSafeInteger(expected) && expected >= 0))
    throw new TypeError('an append expects no stream or a revision');
  if (events.length === 0) throw new TypeError('an append has events');
  if (coCommits && coCommits.length > 0)
    throw new TypeError('this store takes no coCommits: write them before the append');
  for (const [index, event] of events.entries()) {
    const hash = hashRecorded({ ...event, stream, revision: firstRevision(expected) + index });
    if (hash !== event.hash)
      throw new TypeError(`event ${index} of the append does not have the hash of its content and place`);
  }
}

const bytesOf = (events: readonly ProposedEvent[]): number =>
  events.reduce((sum, { type, data, metadata }) => sum + data.byteLength + metadata.byteLength + 2 * type.length, 0);

const firstRevision = (expected: AppendRequest['expected']): number => (expected === 'no-stream' ? 0 : expected + 1);
