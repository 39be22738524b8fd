import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import { EsdbClient } from './client/client.ts';
import type { ReadAnswer, ReadRequest, ServerEvent } from './client/messages.ts';
import { type ClientSettings, parseConnectionString } from './client/settings.ts';
import {
  faultOf,
  isFault,
  mayRetry,
  NoAnswer,
  pauseMs,
  type RetryTimes,
  sleep,
  StoreDenies,
  wasSilent,
  answeredWithin,
} from './faults.ts';

/** A server denies everything to everybody but administrators for a second after its start. */
const DENIED_AFTER_MS = 3_000;
/** Longest pause between two looks for what a server has and does not show yet. */
const LONGEST_LOOK_MS = 200;
/** Lets the gRPC deadline fire first, so that the call itself ends too. */
const OWN_TIMER_MARGIN_MS = 250;
const DENIED =
  'the event store denies it to the user of its connection string (docs/operations.md, "Users of the event store")';

/**
 * The connection that appends and reads share. It switches to a new client when a node stays silent, because a client
 * leaves a node only when a call breaks.
 */
export class EsdbConnection {
  readonly #settings: ClientSettings;
  readonly #times: RetryTimes;
  #client: EsdbClient;
  #closed = false;

  constructor(connectionString: string, times: RetryTimes) {
    this.#settings = parseConnectionString(connectionString);
    this.#times = times;
    this.#client = new EsdbClient(this.#settings);
  }

  get closed(): boolean {
    return this.#closed;
  }

  get attemptMs(): number {
    return this.#times.attemptMs;
  }

  get totalMs(): number {
    return this.#times.totalMs;
  }

  /** A separate client for a subscription, with the subscription's lifetime. */
  separateClient(): EsdbClient {
    return new EsdbClient(this.#settings);
  }

  /**
   * Runs the task until it succeeds, fails permanently, or the time is up. Every attempt must be safe to repeat and
   * ends after the time of one attempt, unless it ends itself when the server falls silent (`collect`): then it may take
   * as long as it gets on, and the time begins anew. Rejects with `StoreUnavailable` when the outcome is unknown, and with a `StoreFault`
   * when the store refused.
   */
  async run<Value>(
    what: string,
    task: (client: EsdbClient) => Promise<Value>,
    { endsItself = false }: { readonly endsItself?: boolean } = {},
  ): Promise<Value> {
    const { attemptMs, totalMs } = this.#times;
    let startedMs = performance.now();
    for (let attempt = 0; ; attempt += 1) {
      const attemptedMs = performance.now();
      if (this.#closed) throw new StoreUnavailable('the event store is closed');
      const client = this.#client;
      try {
        return await (endsItself ? task(client) : answeredWithin(attemptMs + OWN_TIMER_MARGIN_MS, what, task(client)));
      } catch (error) {
        if (endsItself && performance.now() - attemptedMs > attemptMs + OWN_TIMER_MARGIN_MS)
          startedMs = performance.now();
        const deadlineMs = startedMs + totalMs;
        const pause = pauseMs(attempt);
        const nextMs = performance.now() + pause;
        if (isFault(error, 'denied') && nextMs >= Math.min(deadlineMs, startedMs + DENIED_AFTER_MS))
          throw new StoreDenies(`${what}: ${DENIED}`, { cause: error });
        if (!isFault(error, 'denied') && !mayRetry(error)) throw error;
        if (wasSilent(error)) this.#replace(client);
        if (nextMs >= deadlineMs) throw new StoreUnavailable(`${what}: ${reasonOf(error)}`, { cause: error });
        await sleep(pause);
      }
    }
  }

  /**
   * Reads until it finds something: a server refuses an append because of events that are written and cannot be read
   * until its cluster has replicated them. Rejects with `StoreUnavailable` when the time is up.
   */
  async found<Value>(unreadable: string, read: () => Promise<Value | null>): Promise<Value> {
    const deadlineMs = performance.now() + this.#times.totalMs;
    for (let attempt = 0; ; attempt += 1) {
      const found = await read();
      if (found !== null) return found;
      const pause = pauseMs(attempt, LONGEST_LOOK_MS);
      if (performance.now() + pause >= deadlineMs) throw new StoreUnavailable(`${unreadable} is not readable yet`);
      await sleep(pause);
    }
  }

  /** Everything that a read gives, which has no deadline: silence ends it. */
  collect(client: EsdbClient, request: ReadRequest): Promise<ServerEvent[]> {
    return new Promise((resolve, reject) => {
      const events: ServerEvent[] = [];
      let cancel = (): void => {};
      const timer = setTimeout(() => {
        reject(new NoAnswer(`a read went silent for ${this.attemptMs} ms`));
        cancel();
      }, this.attemptMs);
      const fail = (error: unknown): void => {
        clearTimeout(timer);
        reject(faultOf(error));
      };
      client.read(request).then((reading) => {
        cancel = () => reading.cancel();
        reading.on('data', (answer: ReadAnswer) => {
          if (answer.kind === 'event') events.push(answer.event);
          timer.refresh();
        });
        reading.on('error', fail);
        reading.on('end', () => {
          clearTimeout(timer);
          resolve(events);
        });
      }, fail);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#client.close();
  }

  #replace(suspect: EsdbClient): void {
    if (this.#client !== suspect || this.#closed) return;
    this.#client = new EsdbClient(this.#settings);
    suspect.retire();
  }
}

/** The messages name hosts and status codes, never credentials. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'no reason given');
