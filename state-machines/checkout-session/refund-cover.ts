import { amountOf, least } from '../../src/domain/money.ts';
import { depositsOf, type DepositState, type LegState, type SessionContext } from './session.state.ts';

/**
 * What the deposits that a leg pays back say: they are final and enough, enough with those on their way to being final,
 * or the money is gone.
 */
export type Cover = 'final' | 'awaited' | 'gone';

/** Money that went out comes before money that may have, and that before what only waits. */
const RANK: Readonly<Record<LegState['status'], number>> = { COMPLETED: 0, PROCESSING: 1, PENDING: 2, FAILED: 3 };

/**
 * Whether the money that a leg pays back is still there, once every leg before it has had its share of the same
 * deposits.
 */
export function coverOf(context: SessionContext, legId: string): Cover {
  if (isCovered(context, legId, ['final'])) return 'final';
  return isCovered(context, legId, ['final', 'detected']) ? 'awaited' : 'gone';
}

/**
 * Since when money that legs pay back is gone, by the deposit that left the chain last; null when none did. Unix
 * seconds.
 */
export function goneSinceSec(context: SessionContext): number | null {
  const times = depositsOf(context).flatMap(({ status, revertedAtSec }) =>
    revertedAtSec === undefined || status === 'final' ? [] : [revertedAtSec],
  );
  return times.length === 0 ? null : Math.max(...times);
}

function isCovered(context: SessionContext, legId: string, counted: readonly DepositState['status'][]): boolean {
  const left = new Map(
    depositsOf(context).flatMap(({ facts, units, status }) =>
      counted.includes(status) ? [[facts.depositKey, units]] : [],
    ),
  );
  const legs = Object.values(context.refunds)
    .flatMap((refund) => Object.values(refund.legs))
    .filter(({ status }) => status !== 'FAILED')
    .sort((one, other) => RANK[one.status] - RANK[other.status]);
  for (const { leg, status } of legs) {
    const isThere = leg.takenFrom.every(({ depositKey, amount }) => (left.get(depositKey) ?? 0n) >= amountOf(amount));
    if (leg.legId === legId) return isThere;
    // What waits and finds too little takes nothing; what is signed may take all there is.
    if (status === 'PENDING' && !isThere) continue;
    for (const { depositKey, amount } of leg.takenFrom) {
      const there = left.get(depositKey) ?? 0n;
      left.set(depositKey, there - least(there, amountOf(amount)));
    }
  }
  return false;
}
