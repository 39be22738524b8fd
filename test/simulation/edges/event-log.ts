import {
  StoreUnavailable,
  type AppendRequest,
  type AppendResult,
  type EventStore,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
  type SubscribeOptions,
  type Subscription,
} from '../../../src/ports/event-log/event-store.ts';
import type { Prng } from '../time/prng.ts';
import { currentProcess, within, type ModelProcess, type Scheduler } from '../time/scheduler.ts';
import { callOut, type Latency } from './edge.ts';

/** What the log does wrong at the moment. */
export interface LogFaults {
  /** Answers nothing but that it cannot. */
  isAway: boolean;
  /** Of the appends, how many are told to have an unknown outcome; half of those were done. */
  unknownOutcomes: number;
  /** How long each call takes. */
  slowMs: number;
}

const LATENCY: Latency = { leastMs: 0.5, mostMs: 4 };
const RETRY_MS = 100;
const BEHIND_MS = 1_000;
const BATCH = 256;
/** Subscriptions learn of new events a moment later. */
const NOTICE_MS = 1;

/** In the form of the shared store, which the other one never looks into. */
const positionOf = (place: number): Position => `C:${place}/P:${place}`;
const placeOf = (position: Position | null): number =>
  position === null ? 0 : Number(position.slice(2, position.indexOf('/')));

/** The event log as its disk has it: what was committed stays, whatever ends. */
export class EventLog {
  readonly events: RecordedEvent[] = [];
  readonly faults: LogFaults = { isAway: false, unknownOutcomes: 0, slowMs: 0 };
  /** Told of each event when it is durable. */
  readonly onCommitted: ((event: RecordedEvent) => void)[] = [];
  /** Told of the events that a restored copy lacks. */
  readonly onLost: ((events: readonly RecordedEvent[]) => void)[] = [];
  readonly scheduler: Scheduler;
  readonly prng: Prng;
  /** Copies that were put in its place. */
  restored = 0;
  readonly #streams = new Map<string, RecordedEvent[]>();
  /** When each event became durable. */
  readonly #committedMs: number[] = [];
  readonly #connections = new Set<Connection>();

  constructor(scheduler: Scheduler, prng: Prng) {
    this.scheduler = scheduler;
    this.prng = prng;
  }

  /** For the current process. */
  connect(): EventStore {
    const connection = new Connection(this, () => this.#connections.delete(connection));
    this.#connections.add(connection);
    return connection;
  }

  streamOf(stream: string): readonly RecordedEvent[] {
    return this.#streams.get(stream) ?? [];
  }

  append({ stream, expected, events }: AppendRequest): AppendResult {
    const recorded = this.#streams.get(stream) ?? [];
    const first = expected === 'no-stream' ? 0 : expected + 1;
    if (recorded.length > first && events.every((event, index) => recorded[first + index]?.id === event.id)) {
      const last = recorded[first + events.length - 1]!;
      return { ok: true, revision: last.revision, position: last.position };
    }
    if (recorded.length !== first) return { ok: false, actual: recorded.length - 1 };
    this.#streams.set(stream, recorded);
    for (const event of events) {
      const entry = { ...event, stream, revision: recorded.length, position: positionOf(this.events.length + 1) };
      recorded.push(entry);
      this.events.push(entry);
      this.#committedMs.push(this.scheduler.nowMs);
      for (const listener of this.onCommitted) listener(entry);
    }
    for (const connection of this.#connections) connection.notify();
    return { ok: true, revision: recorded.length - 1, position: positionOf(this.events.length) };
  }

  /** A copy made at that time takes its place. */
  restoreTo(copiedMs: number): void {
    const kept = this.#committedMs.filter((atMs) => atMs <= copiedMs).length;
    const lost = this.events.splice(kept);
    this.restored += 1;
    this.#committedMs.splice(kept);
    for (const { stream, revision } of lost) this.#streams.get(stream)!.splice(revision);
    for (const listener of this.onLost) listener(lost);
  }
}

class Connection implements EventStore {
  readonly #log: EventLog;
  readonly #restored: number;
  readonly #onClosed: () => void;
  readonly #subscriptions = new Set<FollowedLog>();

  constructor(log: EventLog, onClosed: () => void) {
    this.#log = log;
    this.#restored = log.restored;
    this.#onClosed = onClosed;
  }

  append(request: AppendRequest): Promise<AppendResult> {
    const { faults, prng } = this.#log;
    return this.#call(() => {
      if (!prng.chance(faults.unknownOutcomes)) return this.#log.append(request);
      if (prng.chance(0.5)) this.#log.append(request);
      throw new StoreUnavailable('no answer in time');
    });
  }

  readStream(
    stream: string,
    { from = 0, limit = Infinity }: { readonly from?: number; readonly limit?: number } = {},
  ): Promise<RecordedEvent[]> {
    return this.#call(() => this.#log.streamOf(stream).slice(from, from + limit));
  }

  lastOfStream(stream: string): Promise<RecordedEvent | null> {
    return this.#call(() => this.#log.streamOf(stream).at(-1) ?? null);
  }

  readAll({ after, limit, streamPrefixes }: ReadAllOptions): Promise<RecordedEvent[]> {
    return this.#call(() => {
      const found: RecordedEvent[] = [];
      for (let at = placeOf(after); at < this.#log.events.length && found.length < limit; at += 1)
        if (isWanted(this.#log.events[at]!, streamPrefixes)) found.push(this.#log.events[at]!);
      return found;
    });
  }

  head(): Promise<Position | null> {
    return this.#call(() => this.#log.events.at(-1)?.position ?? null);
  }

  subscribe(options: SubscribeOptions): Subscription {
    const subscription = new FollowedLog(this.#log, options, () => this.#subscriptions.delete(subscription));
    this.#subscriptions.add(subscription);
    return subscription;
  }

  notify(): void {
    for (const subscription of this.#subscriptions) subscription.notify();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    this.#onClosed();
  }

  #call<Value>(work: () => Value): Promise<Value> {
    const { scheduler, prng, faults } = this.#log;
    const latency = { leastMs: LATENCY.leastMs + faults.slowMs, mostMs: LATENCY.mostMs + faults.slowMs };
    return callOut({ scheduler, prng, loses: () => prng.chance(0.5) }, latency, () => {
      if (faults.isAway || this.#restored < this.#log.restored) throw new StoreUnavailable('the store is away');
      return work();
    });
  }
}

const isWanted = ({ stream }: RecordedEvent, prefixes: readonly string[] | undefined): boolean =>
  prefixes === undefined || prefixes.some((prefix) => stream.startsWith(prefix));

class FollowedLog implements Subscription {
  position: Position | null;
  readonly #log: EventLog;
  readonly #options: SubscribeOptions;
  readonly #owner: ModelProcess | null = currentProcess();
  readonly #onClosed: () => void;
  #through: number;
  #isClosed = false;
  #isScheduled = false;
  #toldCaughtUp = false;
  #running: Promise<void> = Promise.resolve();
  #waiters: { readonly at: number; readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];

  constructor(log: EventLog, options: SubscribeOptions, onClosed: () => void) {
    if (placeOf(options.after) > log.events.length) throw new RangeError(`position ${options.after} is beyond the log`);
    this.#log = log;
    this.#options = options;
    this.#onClosed = onClosed;
    this.position = options.after;
    this.#through = placeOf(options.after);
    this.notify();
  }

  get lag(): number {
    return this.#log.events.length - this.#through;
  }

  reached(position: Position): Promise<void> {
    if (placeOf(position) <= this.#through) return Promise.resolve();
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the subscription is closed'));
    return new Promise((resolve, reject) => this.#waiters.push({ at: placeOf(position), resolve, reject }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    for (const { reject } of this.#waiters.splice(0)) reject(new StoreUnavailable('the subscription was closed'));
    this.#onClosed();
  }

  notify(delayMs = this.#noticeMs()): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    this.#log.scheduler.after(delayMs, this.#owner, () => {
      this.#running = this.#pump().then((again) => {
        this.#isScheduled = false;
        if (again !== null) this.notify(again);
      });
    });
  }

  /** Now and then whoever follows is busy with something else. */
  #noticeMs(): number {
    const { prng } = this.#log;
    return prng.chance(0.02) ? prng.between(100, 5_000) : NOTICE_MS;
  }

  /** Answers after which pause there is more to do; null for nothing. */
  async #pump(): Promise<number | null> {
    if (this.#isClosed) return null;
    if (this.#log.faults.isAway) return RETRY_MS;
    if (this.#owner?.isBehind) return BEHIND_MS;
    const window = this.#log.events.slice(this.#through, this.#through + (this.#options.maxBatch ?? BATCH));
    const events = window.filter((event) => isWanted(event, this.#options.streamPrefixes));
    if (events.length > 0) {
      this.#toldCaughtUp = false;
      try {
        await within(this.#owner, () => this.#options.onEvents(events));
      } catch {
        return RETRY_MS;
      }
      this.position = events.at(-1)!.position;
    }
    this.#through += window.length;
    const due = this.#waiters.filter(({ at }) => at <= this.#through);
    this.#waiters = this.#waiters.filter(({ at }) => at > this.#through);
    for (const { resolve } of due) resolve();
    if (this.lag > 0) return NOTICE_MS;
    if (!this.#toldCaughtUp) {
      this.#toldCaughtUp = true;
      this.#options.onCaughtUp?.();
    }
    return null;
  }
}
