import {
  type AppendRequest,
  type AppendResult,
  type EventStore,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
  type SubscribeOptions,
  type Subscription,
  StoreUnavailable,
} from '../../src/ports/event-log/event-store.ts';

const RETRY_MS = 5;
const BATCH = 256;

/** An event log in memory, faithful to the port but for durability. */
export class MemoryEventStore implements EventStore {
  readonly events: RecordedEvent[] = [];
  readonly #streams = new Map<string, RecordedEvent[]>();
  readonly #subscriptions = new Set<MemorySubscription>();

  async append({ stream, expected, events }: AppendRequest): Promise<AppendResult> {
    const recorded = this.#streams.get(stream) ?? [];
    const first = expected === 'no-stream' ? 0 : expected + 1;
    if (recorded.length > first && events.every((event, index) => recorded[first + index]?.id === event.id)) {
      const last = recorded[first + events.length - 1]!;
      return { ok: true, revision: last.revision, position: last.position };
    }
    if (recorded.length !== first) return { ok: false, actual: recorded.length - 1 };
    for (const event of events) {
      const entry = { ...event, stream, revision: recorded.length, position: String(this.events.length + 1) };
      recorded.push(entry);
      this.events.push(entry);
    }
    this.#streams.set(stream, recorded);
    for (const subscription of this.#subscriptions) subscription.notify();
    return { ok: true, revision: recorded.length - 1, position: String(this.events.length) };
  }

  async readStream(
    stream: string,
    { from = 0, limit = Infinity }: { from?: number; limit?: number } = {},
  ): Promise<RecordedEvent[]> {
    return (this.#streams.get(stream) ?? []).slice(from, from + limit);
  }

  async lastOfStream(stream: string): Promise<RecordedEvent | null> {
    return this.#streams.get(stream)?.at(-1) ?? null;
  }

  async readAll({ after, limit, streamPrefixes }: ReadAllOptions): Promise<RecordedEvent[]> {
    return this.events
      .slice(Number(after ?? 0))
      .filter(matching(streamPrefixes))
      .slice(0, limit);
  }

  subscribe(options: SubscribeOptions): Subscription {
    if (Number(options.after ?? 0) > this.events.length)
      throw new RangeError(`position ${options.after} is beyond the log`);
    const subscription = new MemorySubscription(this, options, () => this.#subscriptions.delete(subscription));
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async head(): Promise<Position | null> {
    return this.events.at(-1)?.position ?? null;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
  }
}

const matching = (prefixes: readonly string[] | undefined) => (event: RecordedEvent) =>
  prefixes === undefined || prefixes.some((prefix) => event.stream.startsWith(prefix));

class MemorySubscription implements Subscription {
  position: Position | null;
  readonly #store: MemoryEventStore;
  readonly #options: SubscribeOptions;
  readonly #onClosed: () => void;
  readonly #finished: Promise<void>;
  #through: number;
  #isClosed = false;
  #wake: (() => void) | null = null;
  #waiters: { at: number; resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(store: MemoryEventStore, options: SubscribeOptions, onClosed: () => void) {
    this.#store = store;
    this.#options = options;
    this.#onClosed = onClosed;
    this.position = options.after;
    this.#through = Number(options.after ?? 0);
    this.#finished = this.#run();
  }

  get lag(): number {
    return this.#store.events.length - this.#through;
  }

  reached(position: Position): Promise<void> {
    if (Number(position) <= this.#through) return Promise.resolve();
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the subscription is closed'));
    return new Promise((resolve, reject) => this.#waiters.push({ at: Number(position), resolve, reject }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.notify();
    await this.#finished;
  }

  notify(): void {
    this.#wake?.();
  }

  async #run(): Promise<void> {
    await Promise.resolve();
    let toldCaughtUp = false;
    while (!this.#isClosed) {
      if (this.lag > 0) {
        toldCaughtUp = false;
        await this.#advance();
      } else if (!toldCaughtUp) {
        toldCaughtUp = true;
        this.#options.onCaughtUp?.();
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
    for (const { reject } of this.#waiters.splice(0)) reject(new StoreUnavailable('the subscription was closed'));
    this.#onClosed();
  }

  async #advance(): Promise<void> {
    const window = this.#store.events.slice(this.#through, this.#through + (this.#options.maxBatch ?? BATCH));
    const events = window.filter(matching(this.#options.streamPrefixes));
    if (events.length > 0) {
      try {
        await this.#options.onEvents(events);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        return;
      }
      this.position = events.at(-1)!.position;
    }
    this.#through += window.length;
    const due = this.#waiters.filter((waiter) => waiter.at <= this.#through);
    this.#waiters = this.#waiters.filter((waiter) => waiter.at > this.#through);
    for (const { resolve } of due) resolve();
  }
}
