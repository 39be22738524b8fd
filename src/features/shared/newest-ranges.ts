import type { RangeScanned } from '../../domain/events/operations-events.ts';
import type { EventStore } from '../../ports/event-store.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';

export type RangeStore = Pick<EventStore, 'lastOfStream' | 'readStream'>;

const PAGE = 500;
/** A range a minute: three days. What is older is in the ledger. */
const MAX_RANGES = 5_000;

export interface NewestRanges {
  readonly ranges: RangeScanned['data'][];
  readonly isWhole: boolean;
  /** When the chain was replaced by the one that is read now; long ago where it never was. */
  readonly replacedAtMs: number;
}

/**
 * In the order in which they were recorded. What was read of a chain before it was replaced is no evidence of this one;
 * `sinceMs`: what was recorded before is left out.
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
