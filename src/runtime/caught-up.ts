import type { EventStore } from '../ports/event-store.ts';
import type { RunningProjections } from './projection-runner.ts';

export interface Following {
  readonly store: Pick<EventStore, 'head'>;
  readonly projections: Pick<RunningProjections, 'caughtUpTo'>;
}

/** Waits until the look-ups show all that is in the ledger now; false when they do not within a bounded time. */
export async function caughtUpWithLedger({ store, projections }: Following, timeoutMs?: number): Promise<boolean> {
  const head = await store.head();
  return head === null || projections.caughtUpTo(head, timeoutMs);
}
