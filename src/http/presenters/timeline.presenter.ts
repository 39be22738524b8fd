import { toSec } from '../../ports/clock.ts';
import type { Timeline } from '../../features/sessions/timeline/types.ts';
import type { TimelineBody } from '../schemas/timeline.schema.ts';

/** The wire form of a timeline, for the API and for `quittance session explain`. */
export function presentTimeline(timeline: Timeline): TimelineBody {
  return {
    session_id: timeline.sessionId,
    conclusion: timeline.conclusion,
    entries: timeline.entries.map(({ atMs, type, message, facts }) => ({
      at: toSec(atMs),
      type,
      message,
      facts: { ...facts },
    })),
    read_to: timeline.readTo.map(({ network, timeSec }) => ({ network, time: timeSec })),
    coverage: timeline.coverage.map((range) => ({
      network: range.network,
      from_block: range.fromBlock,
      to_block: range.toBlock,
      to_time: range.toTimeSec,
      providers: [...range.providers],
      gaps: range.gaps.map((gap) => ({ from_block: gap.fromBlock, to_block: gap.toBlock })),
    })),
  };
}
