import { goneSinceSec } from '../../../../state-machines/checkout-session/refund-cover.ts';
import type { Found } from './books.ts';
import type { RefundExecutorDeps } from './deps.ts';
import type { RefundRetryState } from './retry-state.ts';

/** Of the time that a deposit has for coming back, what a process that has just started waits for its watchers to see it again. */
const SHARE_AFTER_START = 0.1;

/** Whether the deposits of a leg, which are gone, had the time to come back. Restarts of the process do not prolong it. */
export function isGraceOver(
  { ref, context }: Pick<Found, 'ref' | 'context'>,
  notes: Pick<RefundRetryState, 'missedForMs'>,
  { clock, depositGraceMs }: Pick<RefundExecutorDeps, 'clock' | 'depositGraceMs'>,
): boolean {
  // Asked first: it is what begins the count.
  const missedForMs = notes.missedForMs(ref);
  const goneForMs = clock.nowMs() - (goneSinceSec(context) ?? 0) * 1000;
  return goneForMs >= depositGraceMs && missedForMs >= depositGraceMs * SHARE_AFTER_START;
}
