import {
  type Position,
  type RecordedEvent,
  StoreUnavailable,
  type SubscribeOptions,
  type Subscription,
} from '../../ports/event-log/event-store.ts';
import type { EsdbClient, Reading } from './client/client.ts';
import type { ReadAnswer, ServerEvent } from './client/messages.ts';
import type { EsdbConnection } from './connection.ts';
import { fromServerEvent } from './event-format.ts';
import { answeredWithin, faultOf, NoAnswer, pauseMs, rest } from './faults.ts';
import { isAfter, later, type LogPosition, parsePosition } from './position.ts';
import type { EsdbReader } from './reader.ts';
import { ReachedWaiters } from './reached.ts';
import type { StreamNames } from './stream-names.ts';
import { must } from '../../domain/values/must.ts';

export interface SubscriptionTimes {
  /** Longest pause before a retry after a failure. */
  readonly longestPauseMs: number;
  /** During catch-up, a batch waits this long for more events. */
  readonly lullMs: number;
  /** After this time without any event, the log is read to see whether the subscription missed some. */
  readonly silenceMs: number;
}

interface Parts {
  readonly connection: EsdbConnection;
  readonly reader: EsdbReader;
  readonly names: StreamNames;
  readonly times: Partial<SubscriptionTimes>;
  readonly onError: (error: unknown, attempt: number) => void;
  readonly onClosed: () => void;
}

const DEFAULT_TIMES: SubscriptionTimes = { longestPauseMs: 5_000, lullMs: 15, silenceMs: 10_000 };
const DEFAULT_BATCH = 500;
/** The stream pauses while this many events wait for the handler. */
const MOST_QUEUED = 2_000;

/**
 * A catch-up subscription that outlives its connections. It always resumes after the last event whose handler
 * succeeded, drops duplicates, and never trusts a server's filter checkpoints: only handled events advance it.
 */
export class EsdbSubscription implements Subscription {
  readonly #options: SubscribeOptions;
  readonly #parts: Parts;
  readonly #times: SubscriptionTimes;
  readonly #waiters: ReachedWaiters;
  #queue: RecordedEvent[] = [];
  #inFlight: readonly RecordedEvent[] = [];
  #handled: Position | null;
  /** Last event taken from the stream. Anything not after it is a duplicate. */
  #taken: LogPosition | null;
  #stream: Reading | null = null;
  #live = false;
  #closed = false;
  #pumping: Promise<void> | null = null;
  #lull: NodeJS.Timeout | undefined;
  #lastSignMs = performance.now();
  readonly #running: Promise<void>;
  #wakeClosing: () => void = () => {};
  readonly #closing = new Promise<void>((resolve) => (this.#wakeClosing = resolve));

  constructor(options: SubscribeOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#times = { ...DEFAULT_TIMES, ...parts.times };
    this.#handled = options.after;
    this.#taken = options.after === null ? null : parsePosition(options.after);
    this.#waiters = new ReachedWaiters(parts.reader, options.streamPrefixes, () =>
      this.#handled === null ? null : parsePosition(this.#handled),
    );
    this.#running = this.#run();
  }

  get position(): Position | null {
    return this.#handled;
  }

  /** Number of waiting events, plus one until the server has confirmed that there are no more. */
  get lag(): number {
    return this.#queue.length + this.#inFlight.length + (this.#live ? 0 : 1);
  }

  reached(position: Position): Promise<void> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the subscription is closed'));
    return this.#waiters.wait(parsePosition(position));
  }

  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      clearTimeout(this.#lull);
      this.#queue = [];
      this.#wakeClosing();
      this.#waiters.close();
      this.#parts.onClosed();
    }
    await this.#running;
    await this.#pumping;
  }

  async #run(): Promise<void> {
    for (let attempt = 1; !this.#closed; attempt += 1) {
      const handledBefore = this.#handled;
      try {
        await this.#refuseToBeginBeyondTheEnd();
        await this.#follow();
      } catch (error) {
        if (this.#closed) return;
        if (this.#handled !== handledBefore) attempt = 1;
        this.#parts.onError(error, attempt);
      }
      if (!this.#closed) await Promise.race([rest(pauseMs(attempt, this.#times.longestPauseMs)), this.#closing]);
    }
  }

  /** A checkpoint of another log would skip every event up to it. */
  async #refuseToBeginBeyondTheEnd(): Promise<void> {
    if (this.#handled === null) return;
    const head = await this.#parts.reader.head();
    if (head === null || isAfter(parsePosition(this.#handled), parsePosition(head)))
      throw new RangeError(`position ${this.#handled} is beyond the end of the log`);
  }

  /** The life of one connection. Always ends by throwing, or by `close`. */
  async #follow(): Promise<void> {
    // The current batch may still succeed; only then is the resume position known.
    await this.#pumping;
    if (this.#closed) return;
    const client = this.#parts.connection.separateClient();
    this.#queue = [];
    this.#taken = this.#handled === null ? null : parsePosition(this.#handled);
    try {
      const stream = await Promise.race([this.#open(client), this.#closing]);
      if (!stream) return;
      this.#stream = stream;
      await Promise.race([this.#until(stream), this.#watchForSilence(stream), this.#closing]);
    } finally {
      this.#stream = null;
      this.#live = false;
      client.close();
    }
  }

  #open(client: EsdbClient): Promise<Reading> {
    const filter = this.#parts.names.filter(this.#options.streamPrefixes);
    const { attemptMs } = this.#parts.connection;
    return answeredWithin(attemptMs, 'subscribing', client.subscribe(this.#taken ?? 'start', filter));
  }

  #until(stream: Reading): Promise<never> {
    return new Promise((_, reject) => {
      this.#lastSignMs = performance.now();
      let broken = false;
      // After a failure the rest of this stream is ignored: the event after a damaged one would advance the position
      // past it.
      const guard = (take: () => void): void => {
        this.#lastSignMs = performance.now();
        if (broken || this.#stream !== stream) return;
        try {
          take();
        } catch (error) {
          broken = true;
          reject(error instanceof Error ? error : new Error('an event could not be taken', { cause: error }));
        }
      };
      stream.on('data', (answer: ReadAnswer) => {
        // A server may go on telling how far it searched and still hand nothing over.
        if (answer.kind !== 'other') guard(() => this.#hear(stream, answer));
      });
      stream.on('error', (error: Error) => reject(faultOf(error)));
      stream.on('end', () => reject(new NoAnswer('the server ended the subscription')));
    });
  }

  /** Detects a stream that stays open but delivers nothing, by comparing it with the log. Ends with the stream. */
  async #watchForSilence(stream: Reading): Promise<never> {
    let nothingTo: LogPosition | null = null;
    for (;;) {
      await Promise.race([rest(this.#times.silenceMs), this.#closing]);
      if (this.#closed || this.#stream !== stream) throw new StoreUnavailable('the subscription is closed');
      if (stream.isPaused() || performance.now() - this.#lastSignMs < this.#times.silenceMs) continue;
      nothingTo = await this.#readForMissed(stream, nothingTo);
    }
  }

  /**
   * Reads the log to its end, because any number of foreign events may precede a missed one. Skips parts found empty
   * before. Returns the position up to which nothing was missed.
   */
  async #readForMissed(stream: Reading, nothingTo: LogPosition | null): Promise<LogPosition | null> {
    const taken = this.#taken;
    for (let from = later(taken, nothingTo); ;) {
      const page = await this.#parts.reader.page(from, DEFAULT_BATCH, this.#options.streamPrefixes);
      if (this.#taken !== taken || this.#stream !== stream) return from;
      if (page.events.length > 0) throw new NoAnswer('the log has events that the subscription did not hand over');
      from = page.last;
      if (page.complete) return from;
    }
  }

  #hear(stream: Reading, answer: ReadAnswer): void {
    if (answer.kind === 'event') this.#take(stream, answer.event);
    else if (answer.kind === 'caught-up') this.#becomeLive();
    else this.#live = false;
  }

  #take(stream: Reading, event: ServerEvent): void {
    const recorded = fromServerEvent(event, this.#parts.names);
    const position = parsePosition(recorded.position);
    if (this.#taken && !isAfter(position, this.#taken)) return;
    this.#taken = position;
    this.#queue.push(recorded);
    if (this.#queue.length >= MOST_QUEUED) stream.pause();
    this.#pumpSoon();
  }

  #becomeLive(): void {
    this.#live = true;
    if (this.#isDrained) this.#options.onCaughtUp?.();
    else this.#pumpSoon();
  }

  get #isDrained(): boolean {
    return (
      this.#live && this.#queue.length === 0 && this.#inFlight.length === 0 && (this.#stream?.readableLength ?? 0) === 0
    );
  }

  get #batchSize(): number {
    return this.#options.maxBatch ?? DEFAULT_BATCH;
  }

  #pumpSoon(): void {
    if (this.#pumping || this.#queue.length === 0) return;
    clearTimeout(this.#lull);
    if (this.#live || this.#queue.length >= this.#batchSize) this.#startPump();
    else this.#lull = setTimeout(() => this.#startPump(), this.#times.lullMs);
  }

  #startPump(): void {
    if (this.#pumping || this.#closed) return;
    this.#pumping = this.#pump().finally(() => {
      this.#pumping = null;
      this.#pumpSoon();
    });
  }

  async #pump(): Promise<void> {
    while (this.#queue.length > 0 && !this.#closed) {
      this.#inFlight = this.#queue.splice(0, this.#batchSize);
      if (this.#queue.length < MOST_QUEUED) this.#stream?.resume();
      const handled = await this.#handle(this.#inFlight);
      const last = must(this.#inFlight.at(-1));
      this.#inFlight = [];
      if (!handled) return;
      this.#handled = last.position;
      this.#waiters.handled(parsePosition(last.position));
      if (this.#isDrained) this.#options.onCaughtUp?.();
    }
  }

  /** False if closed before the handler took the batch. */
  async #handle(batch: readonly RecordedEvent[]): Promise<boolean> {
    for (let attempt = 1; !this.#closed; attempt += 1) {
      try {
        await this.#options.onEvents(batch);
        return true;
      } catch (error) {
        this.#parts.onError(error, attempt);
        await Promise.race([rest(pauseMs(attempt, this.#times.longestPauseMs)), this.#closing]);
      }
    }
    return false;
  }
}
