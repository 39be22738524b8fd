import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { RunningProjections } from './runner.ts';

export interface Following {
  readonly store: Pick<EventStore, 'head'>;
  readonly projections: Pick<RunningProjections, 'caughtUpTo'>;
}

/** For queries on the rows of one projection. */
export interface FollowingOf extends Following {
  readonly projections: Pick<RunningProjections, 'caughtUpTo' | 'status'>;
}

/**
 * Waits until the look-ups contain everything in the event log now; false on timeout. Rows being filled beside served
 * ones are not waited for; `isBeingFilled` reports those.
 */
export async function caughtUpWithLog({ store, projections }: Following, timeoutMs?: number): Promise<boolean> {
  const head = await store.head();
  return head === null || projections.caughtUpTo(head, timeoutMs);
}

/**
 * Whether this process has not yet brought the projection's served rows up to any current end of the event log, so that
 * they are incomplete.
 */
export const isBeingFilled = (projections: Pick<RunningProjections, 'status'>, id: string): boolean =>
  projections.status().some(({ projection, hasCaughtUp }) => projection === id && !hasCaughtUp);
