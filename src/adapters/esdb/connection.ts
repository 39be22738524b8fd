import type { Channel } from '@grpc/grpc-js';
import { EventStoreDBClient, type StreamingRead } from '@eventstore/db-client';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import {
  isDenied,
  mayRetry,
  NoAnswer,
  pauseMs,
  type RetryTimes,
  sleep,
  StoreDenies,
  wasSilent,
  answeredWithin,
} from './faults.ts';

/** How long a closed channel stays open. */
const CLOSED_AFTER_MS = 1_000;
/** A server denies everything to everybody but administrators for a second after its start. */
const DENIED_AFTER_MS = 3_000;
/** Longest pause between two looks for what a server has and does not show yet. */
const LONGEST_LOOK_MS = 200;
/** Lets the gRPC deadline fire first, so that the call itself ends too. */
const OWN_TIMER_MARGIN_MS = 250;
const DENIED =
  'the event store denies it to the user of its connection string (docs/operations.md, "Users of the event store")';

/**
 * The connection that appends and reads share. It switches to a new client when a node stays silent, because the driver
 * drops its channel only when a call breaks.
 */
export class EsdbConnection {
  readonly #connectionString: string;
  readonly #times: RetryTimes;
  #client: EventStoreDBClient;
  #closed = false;

  constructor(connectionString: string, times: RetryTimes) {
    this.#connectionString = connectionString;
    this.#times = times;
    this.#client = openClient(connectionString);
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
  separateClient(): EventStoreDBClient {
    return openClient(this.#connectionString);
  }

  /**
   * Runs the task until it succeeds, fails permanently, or the time is up. Every attempt must be safe to repeat and
   * ends after the time of one attempt, unless it ends itself when the server falls silent (`collect`): then it may take
   * as long as it gets on, and the time begins anew. Rejects with `StoreUnavailable` when the outcome is unknown, and with the driver's error
   * when the store refused.
   */
  async run<Value>(
    what: string,
    task: (client: EventStoreDBClient) => Promise<Value>,
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
        if (performance.now() - attemptedMs > attemptMs + OWN_TIMER_MARGIN_MS) startedMs = performance.now();
        const deadlineMs = startedMs + totalMs;
        const pause = pauseMs(attempt);
        const nextMs = performance.now() + pause;
        if (isDenied(error) && nextMs >= Math.min(deadlineMs, startedMs + DENIED_AFTER_MS))
          throw new StoreDenies(`${what}: ${DENIED}`, { cause: error });
        if (!isDenied(error) && !mayRetry(error)) throw error;
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

  /**
   * Everything that a read gives. The driver gives reads no deadline, so silence ends it. It must have a listener to
   * its very end: an error without one ends the process.
   */
  collect<Item>(read: StreamingRead<Item>): Promise<Item[]> {
    return new Promise((resolve, reject) => {
      const items: Item[] = [];
      const timer = setTimeout(() => {
        reject(new NoAnswer(`a read went silent for ${this.attemptMs} ms`));
        void read.cancel().catch(() => {});
      }, this.attemptMs);
      read.on('data', (item: Item) => {
        items.push(item);
        timer.refresh();
      });
      read.on('error', (error: Error) => {
        clearTimeout(timer);
        reject(error);
      });
      read.on('end', () => {
        clearTimeout(timer);
        // The driver hides cancelled calls; an end while closing may be a truncation.
        if (this.#closed) reject(new StoreUnavailable('the event store is closed'));
        else resolve(items);
      });
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await closeClient(this.#client);
  }

  #replace(suspect: EventStoreDBClient): void {
    if (this.#client !== suspect || this.#closed) return;
    this.#client = openClient(this.#connectionString);
    // Running calls keep the old channel until they end.
    closeChannel(suspect);
  }
}

export async function closeClient(client: EventStoreDBClient): Promise<void> {
  await answeredWithin(1_000, 'ending the calls', client.dispose()).catch(() => {});
  closeChannel(client);
}

/**
 * Each append is a call of its own. The driver's batch append keeps the pending calls of all clients in one module-wide
 * map: an error on one stream drops them all, and a later answer then throws inside an event handler, which ends the
 * process.
 */
function openClient(connectionString: string): EventStoreDBClient {
  const client = parsedClient(connectionString);
  Object.defineProperty(client, 'supports', { value: () => Promise.resolve(false) });
  const { createChannel, handleError } = client as unknown as {
    readonly createChannel: () => Promise<Channel>;
    readonly handleError: (...failed: unknown[]) => Promise<void>;
  };
  Object.defineProperty(client, 'createChannel', { value: async () => closedLate(await createChannel()) });
  // The driver waits for the channel here, which with several hosts may never be found, and nobody awaits the driver.
  Object.defineProperty(client, 'handleError', {
    value: (...failed: unknown[]) => handleError(...failed).catch(() => {}),
  });
  return client;
}

/**
 * The driver closes its channel as soon as one call loses it. A call that has chosen the channel but not started would
 * then throw where nobody can catch it, which ends the process. A moment later it has started and fails or succeeds
 * normally.
 */
function closedLate(channel: Channel): Channel {
  const close = channel.close.bind(channel);
  channel.close = () => void setTimeout(close, CLOSED_AFTER_MS).unref();
  return channel;
}

/**
 * The driver's errors and warnings would print the connection string with its password. Only the first line of a
 * warning is passed on.
 */
function parsedClient(connectionString: string): EventStoreDBClient {
  const { warn } = console;
  // oxlint-disable-next-line no-console -- the driver has no other place for its warnings
  console.warn = (text: string) => warn(text.split('\n', 1)[0]);
  try {
    return EventStoreDBClient.connectionString(connectionString);
  } catch {
    throw new TypeError(
      'the connection string of the event store cannot be used: see its format, and that its certificate files exist',
    );
  } finally {
    // oxlint-disable-next-line no-console -- as it was
    console.warn = warn;
  }
}

/** The driver never closes its channel and has no API for it. */
function closeChannel(client: EventStoreDBClient): void {
  const withChannel = client as unknown as { getChannel(): Promise<Channel> };
  withChannel.getChannel().then(
    (channel) => channel.close(),
    () => {},
  );
}

/** The driver's messages name hosts and status codes, never credentials. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'no reason given');
