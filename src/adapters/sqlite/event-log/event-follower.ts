import type { EventStore, SubscribeOptions, Subscription } from '../../../ports/event-log/event-store.ts';
import { CatchUpSubscription, type LogSource, type SourcePage } from './catch-up-subscription.ts';
import { openDatabase } from '../database.ts';
import { EventReader } from './event-reader.ts';
import { eventsFile } from './event-schema.ts';

/** Subscriptions from a thread that does not write the log. */
export interface SqliteEventFollower extends Pick<EventStore, 'subscribe' | 'close'> {
  /** Call this when the writer's thread reports new events. */
  advance(): void;
}

/**
 * Follows the log on a separate connection. A commit is on disk before another connection can see it, so followers
 * never run ahead of what is durable.
 */
export function openSqliteEventFollower(options: {
  readonly dataDir: string;
  readonly onSubscriptionError: (name: string, error: unknown, attempt: number) => void;
}): SqliteEventFollower {
  return new EventFollower(options.dataDir, options.onSubscriptionError);
}

class EventFollower implements SqliteEventFollower, LogSource {
  readonly #database: ReturnType<typeof openDatabase>;
  readonly #reader: EventReader;
  readonly #onError: (name: string, error: unknown, attempt: number) => void;
  readonly #subscriptions = new Set<CatchUpSubscription>();
  #end: number;

  constructor(dataDir: string, onError: (name: string, error: unknown, attempt: number) => void) {
    this.#database = openDatabase(eventsFile(dataDir), { synchronous: 'FULL', readOnly: true });
    this.#reader = new EventReader(this.#database, { lazily: true });
    this.#onError = onError;
    this.#end = this.#reader.tail().position;
  }

  get end(): number {
    return this.#end;
  }

  pageAfter(after: number, window: number, prefixes: readonly string[] | undefined): SourcePage {
    return { ...this.#reader.page(after, window, prefixes, this.#end), fromFile: true };
  }

  subscribe(options: SubscribeOptions): Subscription {
    this.#end = this.#reader.tail().position;
    const subscription = new CatchUpSubscription(options, this, {
      onError: this.#onError,
      onAdvanced: () => undefined,
      onClosed: (closed) => this.#subscriptions.delete(closed),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  advance(): void {
    this.#end = this.#reader.tail().position;
    for (const subscription of this.#subscriptions) subscription.notify();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    this.#database.close();
  }
}
