import type { RangeScanned } from '../../domain/events/operations-events.ts';

/** Blocks that were read, and the gaps between them without evidence. */
export interface CoveredBlocks {
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly toTimeSec: number;
  readonly providers: readonly string[];
  readonly gaps: readonly { readonly fromBlock: number; readonly toBlock: number }[];
}

/**
 * Accepts ranges in any order, because gaps may be read later. `again`: blocks reread by hand, which close gaps but do
 * not extend the range. Null without any.
 */
export function coveredBlocks(
  recorded: readonly RangeScanned['data'][],
  again: readonly RangeScanned['data'][],
): CoveredBlocks | null {
  const from = Math.min(...recorded.map(({ fromBlock }) => fromBlock));
  const to = Math.max(...recorded.map(({ toBlock }) => toBlock));
  const toTime = Math.max(...recorded.map(({ toBlockTimeSec }) => toBlockTimeSec));
  const within = again
    .filter(({ fromBlock, toBlock }) => toBlock >= from && fromBlock <= to)
    .map((range) => ({
      ...range,
      fromBlock: Math.max(from, range.fromBlock),
      ...(range.toBlock > to && { toBlock: to, toBlockTimeSec: toTime }),
    }));
  const ranges = [...recorded, ...within].toSorted((one, other) => one.fromBlock - other.fromBlock);
  const first = ranges[0];
  if (!first) return null;
  const gaps: { fromBlock: number; toBlock: number }[] = [];
  let toBlock = first.toBlock;
  let toTimeSec = first.toBlockTimeSec;
  for (const range of ranges.slice(1)) {
    if (range.fromBlock > toBlock + 1) gaps.push({ fromBlock: toBlock + 1, toBlock: range.fromBlock - 1 });
    toBlock = Math.max(toBlock, range.toBlock);
    toTimeSec = Math.max(toTimeSec, range.toBlockTimeSec);
  }
  return {
    fromBlock: first.fromBlock,
    toBlock,
    toTimeSec,
    providers: [...new Set(ranges.flatMap(({ providers }) => providers))],
    gaps,
  };
}
