import type { RangeScanned } from '../../domain/events/operations-events.ts';
import type { EventStore } from '../../ports/event-store.ts';
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
}

/**
 * In recording order. Reads of a chain before its replacement are no evidence for this one. `sinceMs`: leaves out what
 * was recorded before.
 */
export async function newestRanges(store: RangeStore, stream: string, sinceMs = -Infinity): Promise<NewestRanges> {
  const ranges: RangeScanned['data'][] = [];
  for (let end = ((await store.lastOfStream(stream))?.revision ?? -1) + 1; end > 0 && ranges.length < MAX_RANGES;) {
    const from = Math.max(0, end - PAGE);
    for (const recorded of (await store.readStream(stream, { from, limit: end - from })).toReversed()) {
      const { event } = decodeEvent(recorded);
      if (event.type !== 'RangeScanned' || recorded.atMs < sinceMs)
        return { ranges: ranges.toReversed(), isWhole: true, replacedAtMs: recorded.atMs };
      ranges.push(event.data);
    }
    if (from === 0) return { ranges: ranges.toReversed(), isWhole: true, replacedAtMs: -Infinity };
    end = from;
  }
  return { ranges: ranges.toReversed(), isWhole: ranges.length === 0, replacedAtMs: -Infinity };
}
