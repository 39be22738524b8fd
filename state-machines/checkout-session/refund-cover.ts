import { amountOf, least } from '../../src/domain/money/money.ts';
import type { DepositState } from './deposits.ts';
import { depositsOf, type LegState, type SessionContext } from './session.state.ts';

/**
 * The state of the deposits that a leg pays back: final and sufficient, sufficient together with those waiting for
 * finality, or gone.
 */
export type Cover = 'final' | 'awaited' | 'gone';

/** Money that was paid out takes precedence over money that may have been, and that over money that only waits. */
const RANK: Readonly<Record<LegState['status'], number>> = { COMPLETED: 0, PROCESSING: 1, PENDING: 2, FAILED: 3 };

/**
 * Whether the money that a leg pays back is still there, after every earlier leg has taken its share of the same
 * deposits.
 */
export function coverOf(context: SessionContext, legId: string): Cover {
  if (isCovered(context, legId, ['final'])) return 'final';
  return isCovered(context, legId, ['final', 'detected']) ? 'awaited' : 'gone';
}

/** When the last deposit behind a leg left the chain; null if none did. Unix seconds. */
export function goneSinceSec(context: SessionContext): number | null {
  const times = depositsOf(context).flatMap(({ status, revertedAtSec }) =>
    revertedAtSec === undefined || status === 'final' ? [] : [revertedAtSec],
  );
  return times.length === 0 ? null : Math.max(...times);
}

function isCovered(context: SessionContext, legId: string, counted: readonly DepositState['status'][]): boolean {
  const spent = new Map<string, bigint>();
  const leftOf = (depositKey: string): bigint => {
    const deposit = context.deposits.get(depositKey);
    const isThere = deposit?.aside === undefined && deposit !== undefined && counted.includes(deposit.status);
    return isThere ? deposit.units - (spent.get(depositKey) ?? 0n) : 0n;
  };
  const legs = Object.values(context.refunds)
    .flatMap((refund) => Object.values(refund.legs))
    .filter(({ status }) => status !== 'FAILED')
    .sort((one, other) => RANK[one.status] - RANK[other.status]);
  for (const { leg, status } of legs) {
    const isThere = leg.takenFrom.every(({ depositKey, amount }) => leftOf(depositKey) >= amountOf(amount));
    if (leg.legId === legId) return isThere;
    // A waiting leg without enough money takes nothing; a signed one may take all there is.
    if (status === 'PENDING' && !isThere) continue;
    for (const { depositKey, amount } of leg.takenFrom) {
      const taken = least(leftOf(depositKey), amountOf(amount));
      spent.set(depositKey, (spent.get(depositKey) ?? 0n) + taken);
    }
  }
  return false;
}
