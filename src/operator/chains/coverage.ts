import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { coverageStream, rescansStream } from '../../domain/values/streams.ts';
import { coveredBlocks } from '../../features/shared/covered-blocks.ts';
import { newestRanges, type RangeStore, type RememberedRanges } from '../../features/shared/newest-ranges.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';

/** The newest ranges of a network's blocks that are recorded as read, and the gaps between them. */
export async function chainCoverage(
  store: RangeStore,
  remembered: RememberedRanges,
  mode: Mode,
  network: Network,
): Promise<JsonValue> {
  const { ranges, isWhole, replacedAtMs } = await remembered.newest(coverageStream(mode, network));
  const again = await newestRanges(store, rescansStream(mode, network), replacedAtMs);
  const covered = coveredBlocks(ranges, again.ranges);
  return {
    ...{ mode, network, ranges: ranges.length, since_the_beginning: isWhole },
    from_block: covered?.fromBlock ?? null,
    to_block: covered?.toBlock ?? null,
    to_time: covered?.toTimeSec ?? null,
    providers: [...(covered?.providers ?? [])],
    gaps: (covered?.gaps ?? []).map(({ fromBlock, toBlock }) => ({ from_block: fromBlock, to_block: toBlock })),
  };
}
