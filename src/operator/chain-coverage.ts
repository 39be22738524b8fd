import type { RangeScanned } from '../domain/events/operations-events.ts';
import type { Mode } from '../domain/ids.ts';
import type { Network } from '../domain/networks.ts';
import { coverageStream } from '../domain/streams.ts';
import { coveredBlocks } from '../features/shared/covered-blocks.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { JsonValue } from '../ports/read-model.ts';
import { decodeEvent } from '../runtime/commands/codec.ts';

type CoverageStore = Pick<EventStore, 'lastOfStream' | 'readStream'>;

const PAGE = 500;
/** A range a minute: three days. What is older is in the ledger. */
const MAX_RANGES = 5_000;

/** Which blocks of a network are recorded as read, of its newest ranges, and which between them are not. */
export async function chainCoverage(store: CoverageStore, mode: Mode, network: Network): Promise<JsonValue> {
  const { ranges, isWhole } = await newestRanges(store, coverageStream(mode, network));
  const covered = coveredBlocks(ranges);
  return {
    ...{ mode, network, ranges: ranges.length, since_the_beginning: isWhole },
    ...{
      from_block: covered?.fromBlock ?? null,
      to_block: covered?.toBlock ?? null,
      to_time: covered?.toTimeSec ?? null,
    },
    providers: [...(covered?.providers ?? [])],
    gaps: (covered?.gaps ?? []).map(({ fromBlock, toBlock }) => ({ from_block: fromBlock, to_block: toBlock })),
  };
}

/**
 * In the order in which they were recorded. What was read of a chain before it was replaced is no evidence of this one.
 */
async function newestRanges(
  store: CoverageStore,
  stream: string,
): Promise<{ readonly ranges: RangeScanned['data'][]; readonly isWhole: boolean }> {
  const ranges: RangeScanned['data'][] = [];
  for (let end = ((await store.lastOfStream(stream))?.revision ?? -1) + 1; end > 0 && ranges.length < MAX_RANGES;) {
    const from = Math.max(0, end - PAGE);
    for (const recorded of (await store.readStream(stream, { from, limit: end - from })).toReversed()) {
      const { event } = decodeEvent(recorded);
      if (event.type !== 'RangeScanned') return { ranges: ranges.toReversed(), isWhole: true };
      ranges.push(event.data);
    }
    if (from === 0) return { ranges: ranges.toReversed(), isWhole: true };
    end = from;
  }
  return { ranges: ranges.toReversed(), isWhole: ranges.length === 0 };
}
