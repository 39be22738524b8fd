import type { EventStore } from '../../ports/event-store.ts';
import type { RunningProjections } from './runner.ts';

export interface Following {
  readonly store: Pick<EventStore, 'head'>;
  readonly projections: Pick<RunningProjections, 'caughtUpTo'>;
}

/** For whoever asks about the rows of one projection. */
export interface FollowingOf extends Following {
  readonly projections: Pick<RunningProjections, 'caughtUpTo' | 'status'>;
}

/**
 * Waits until the look-ups show all that is in the ledger now; false when they do not within a bounded time. Those that
 * are being filled while others are served are not waited for: `isBeingFilled` tells of them.
 */
export async function caughtUpWithLedger({ store, projections }: Following, timeoutMs?: number): Promise<boolean> {
  const head = await store.head();
  return head === null || projections.caughtUpTo(head, timeoutMs);
}

/**
 * Whether this process has not yet brought what is served of the projection to where the ledger was at any moment: its
 * rows are only a beginning.
 */
export const isBeingFilled = (projections: Pick<RunningProjections, 'status'>, id: string): boolean =>
  projections.status().some(({ projection, hasCaughtUp }) => projection === id && !hasCaughtUp);
