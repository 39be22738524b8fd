import {
  StoreUnavailable,
  type EventStore,
  type Position,
  type RecordedEvent,
  type SubscribeOptions,
  type Subscription,
} from '../../ports/event-log/event-store.ts';
import type { Log } from '../../ports/log.ts';
import { storeWith } from '../../ports/event-log/store-with.ts';

const PAGE = 256;
/** After this many consecutive unreadable positions the rest is given up. */
const MOST_UNREADABLE = 1_000;

/**
 * A damaged log with gapless positions, for reading: it refuses appends and skips events that cannot be read or that a
 * subscriber cannot process. Subscribers receive the existing events once, because nothing more will come.
 */
export function readingStore(store: EventStore, reason: string, log: Log): EventStore {
  return storeWith(store, {
    append: () => Promise.reject(new StoreUnavailable(`nothing is written: ${reason}`)),
    head: () => store.head().catch(() => null),
    readAll: async ({ after, limit, streamPrefixes }) => {
      const found: RecordedEvent[] = [];
      for await (const event of readable(store, after)) {
        if (isIn(streamPrefixes, event)) found.push(event);
        if (found.length === limit) break;
      }
      return found;
    },
    subscribe: (options) => follow(store, options, log),
  });
}

function follow(store: EventStore, options: SubscribeOptions, log: Log): Subscription {
  let isClosed = false;
  const run = async (): Promise<void> => {
    for await (const event of readable(store, options.after)) {
      if (isClosed) return;
      if (isIn(options.streamPrefixes, event)) await take(options, event, log);
    }
    if (!isClosed) options.onCaughtUp?.();
  };
  const finished = run().catch((error: unknown) =>
    log.error({ err: error, subscription: options.name }, 'the damaged event log cannot be read further'),
  );
  return {
    position: options.after,
    lag: 0,
    reached: () => finished,
    close: async () => {
      isClosed = true;
      await finished;
    },
  };
}

const isIn = (prefixes: readonly string[] | undefined, { stream }: RecordedEvent): boolean =>
  prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true;

async function take(options: SubscribeOptions, event: RecordedEvent, log: Log): Promise<void> {
  try {
    await options.onEvents([event]);
  } catch (error) {
    const { stream, revision, position, type } = event;
    log.error(
      { err: error, subscription: options.name, stream, revision, position, type },
      'a damaged event is skipped',
    );
  }
}

/** Every readable event after the position, in order. */
async function* readable(store: EventStore, after: Position | null): AsyncGenerator<RecordedEvent> {
  let from = Number(after ?? 0);
  let window = PAGE;
  // If the end itself cannot be read, the events before it still can.
  const end = await store.head().then(Number, () => Number.MAX_SAFE_INTEGER);
  for (let unreadable = 0; from < end && unreadable < MOST_UNREADABLE;) {
    try {
      const events = await store.readAll({ after: from === 0 ? null : String(from), limit: window });
      yield* events;
      from = Number(events.at(-1)?.position ?? end);
      window = PAGE;
      unreadable = 0;
    } catch {
      // Halved until only unreadable events are skipped.
      if (window > 1) window = Math.floor(window / 2);
      else [from, unreadable] = [from + 1, unreadable + 1];
    }
  }
}
