import type { Channel } from '@grpc/grpc-js';
import { EventStoreDBClient } from '@eventstore/db-client';
import { StoreUnavailable } from '../../ports/event-store.ts';
import { isDenied, mayRetry, pauseMs, type RetryTimes, sleep, StoreDenies, wasSilent, within } from './faults.ts';

/** How long a channel stays open after it was closed. */
const CLOSED_AFTER_MS = 1_000;
/** Room for the gRPC deadline to fire first, so that the call itself ends too. */
const OWN_TIMER_MARGIN_MS = 250;
const DENIED =
  'the event store denies it to the user of its connection string (docs/operations.md, "Users of the event store")';

/**
 * The connection that appends and reads share. It takes another client when a node stays silent: the driver only drops
 * its channel when a call breaks.
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

  /** A client of its own for a subscription, which lives as long as the subscription. */
  separateClient(): EventStoreDBClient {
    return openClient(this.#connectionString);
  }

  /**
   * Runs the task until it succeeds, fails for good, or time is up. Every attempt must be safe to repeat and ends after
   * `attemptMs`. Rejects with `StoreUnavailable` when nothing is known, and with the driver's error when the store said
   * no for good.
   */
  async run<Value>(
    what: string,
    task: (client: EventStoreDBClient) => Promise<Value>,
    attemptMs = this.#times.attemptMs,
  ): Promise<Value> {
    const deadlineMs = performance.now() + this.#times.totalMs;
    for (let attempt = 0; ; attempt += 1) {
      if (this.#closed) throw new StoreUnavailable('the event store is closed');
      const client = this.#client;
      try {
        return await within(attemptMs + OWN_TIMER_MARGIN_MS, what, task(client));
      } catch (error) {
        if (isDenied(error)) throw new StoreDenies(`${what}: ${DENIED}`, { cause: error });
        if (!mayRetry(error)) throw error;
        if (wasSilent(error)) this.#replace(client);
        const pause = pauseMs(attempt);
        if (performance.now() + pause >= deadlineMs)
          throw new StoreUnavailable(`${what}: ${reasonOf(error)}`, { cause: error });
        await sleep(pause);
      }
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await closeClient(this.#client);
  }

  #replace(suspect: EventStoreDBClient): void {
    if (this.#client !== suspect || this.#closed) return;
    this.#client = openClient(this.#connectionString);
    // Calls under way on the old channel keep it until they end.
    closeChannel(suspect);
  }
}

export async function closeClient(client: EventStoreDBClient): Promise<void> {
  await within(1_000, 'ending the calls', client.dispose()).catch(() => {});
  closeChannel(client);
}

/**
 * Appends go one call each. The driver's batch append keeps the pending calls of all clients in one module-wide map: an
 * error on one stream forgets them all, and an answer that still arrives then throws inside an event handler, which
 * ends the process.
 */
function openClient(connectionString: string): EventStoreDBClient {
  const client = parsedClient(connectionString);
  Object.defineProperty(client, 'supports', { value: () => Promise.resolve(false) });
  const { createChannel } = client as unknown as { readonly createChannel: () => Promise<Channel> };
  Object.defineProperty(client, 'createChannel', { value: async () => closedLate(await createChannel()) });
  return client;
}

/**
 * The driver closes its channel as soon as one call loses it. Another call that has chosen the channel and not begun
 * yet would then throw where nobody can catch it, which ends the process; a moment later it has begun, and fails or
 * succeeds like any other.
 */
function closedLate(channel: Channel): Channel {
  const close = channel.close.bind(channel);
  channel.close = () => void setTimeout(close, CLOSED_AFTER_MS).unref();
  return channel;
}

/**
 * The driver's own errors and warnings would show the whole connection string, the password with it: of a warning only
 * what it is about goes on.
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

/** The driver never closes its channel by itself and shows no way to. */
function closeChannel(client: EventStoreDBClient): void {
  const withChannel = client as unknown as { getChannel(): Promise<Channel> };
  withChannel.getChannel().then(
    (channel) => channel.close(),
    () => {},
  );
}

/** The driver's messages name hosts and status codes, never credentials. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'no reason given');
