import type { RangeScanned } from '../../domain/events/operations-events.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';

export type RangeStore = Pick<EventStore, 'lastOfStream' | 'readStream'>;

const PAGE = 500;
/** One range a minute for three days. The event log has older ones. */
const MAX_RANGES = 5_000;

export interface NewestRanges {
  readonly ranges: RangeScanned['data'][];
  readonly isWhole: boolean;
  /** When the current chain replaced its predecessor; in the distant past if it never did. */
  readonly replacedAtMs: number;
  /** Revision of the next event of the stream. */
  readonly end: number;
}

/**
 * In recording order. Reads of a chain before its replacement are no evidence for this one. `sinceMs`: leaves out what
 * was recorded before.
 */
export async function newestRanges(store: RangeStore, stream: string, sinceMs = -Infinity): Promise<NewestRanges> {
  const ranges: RangeScanned['data'][] = [];
  const end = ((await store.lastOfStream(stream))?.revision ?? -1) + 1;
  for (let until = end; until > 0 && ranges.length < MAX_RANGES;) {
    const from = Math.max(0, until - PAGE);
    for (const recorded of (await store.readStream(stream, { from, limit: until - from })).toReversed()) {
      const { event } = decodeEvent(recorded);
      if (event.type !== 'RangeScanned' || recorded.atMs < sinceMs)
        return { ranges: ranges.toReversed(), isWhole: true, replacedAtMs: recorded.atMs, end };
      ranges.push(event.data);
    }
    if (from === 0) return { ranges: ranges.toReversed(), isWhole: true, replacedAtMs: -Infinity, end };
    until = from;
  }
  return { ranges: ranges.toReversed(), isWhole: ranges.length === 0, replacedAtMs: -Infinity, end };
}

/** Remembers the ranges of each stream: reading thousands again would take longer than showing them. */
export class RememberedRanges {
  readonly #store: RangeStore;
  readonly #known = new Map<string, NewestRanges>();

  constructor(store: RangeStore) {
    this.#store = store;
  }

  async newest(stream: string): Promise<NewestRanges> {
    const known = this.#known.get(stream);
    const newest = (known && (await this.#continued(stream, known))) ?? (await newestRanges(this.#store, stream));
    this.#known.set(stream, newest);
    return newest;
  }

  /** Null if that is not enough: much was added, or the chain was replaced. */
  async #continued(stream: string, known: NewestRanges): Promise<NewestRanges | null> {
    const added = await this.#store.readStream(stream, { from: known.end, limit: PAGE });
    const ranges = added.flatMap((recorded) => {
      const { event } = decodeEvent(recorded);
      return event.type === 'RangeScanned' ? [event.data] : [];
    });
    if (ranges.length < added.length || added.length === PAGE) return null;
    const all = [...known.ranges, ...ranges];
    return {
      ...known,
      ranges: all.slice(-MAX_RANGES),
      isWhole: known.isWhole && all.length <= MAX_RANGES,
      end: known.end + added.length,
    };
  }
}
