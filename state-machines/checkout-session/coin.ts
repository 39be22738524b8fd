import type { CoinChosen, CoinTerms } from '../../src/domain/events/coin-events.ts';
import type { SessionCreated } from '../../src/domain/events/session-events.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import { createdOf, type SessionContext } from './session.state.ts';
import { must } from '../../src/domain/values/must.ts';

/*
 * The coin of a session whose merchant lets the payer choose. The first money that counts decides: from then on the
 * session is one of that coin, and money in the other coin is refundable and pays nothing.
 */

/** The other coin's terms while no money has decided; null if there is no choice, or not any more. */
export function openAlternative({ created, paid, cancelled, deposits, refunds }: SessionContext): CoinTerms | null {
  const isDecided =
    paid !== null || cancelled !== null || Object.keys(refunds).length > 0 || deposits.sums.countedCount > 0;
  return isDecided ? null : (created?.alternative ?? null);
}

export const chosenBy = ({ coin, dueAmount, tolerance, rateLock }: CoinTerms): CoinChosen['data'] => ({
  ...{ coin, dueAmount, tolerance },
  rate: rateLock.rate,
  rateLockedAtSec: rateLock.lockedAtSec,
});

/** Whether the terms are exactly those agreed at the start. */
export function isChoosable(context: SessionContext, data: CoinChosen['data']): boolean {
  const terms = openAlternative(context);
  if (terms === null) return false;
  const { coin, dueAmount, tolerance, rate, rateLockedAtSec } = chosenBy(terms);
  return (
    data.coin === coin &&
    data.dueAmount === dueAmount &&
    data.tolerance === tolerance &&
    data.rate === rate &&
    data.rateLockedAtSec === rateLockedAtSec
  );
}

/** Swaps both coins, so that the first one can be chosen again if the money leaves the chain. */
export function foldCoinChosen(context: SessionContext): Partial<SessionContext> {
  const created = createdOf(context);
  const { coin, dueAmount, rateLock, tolerance, dustLimit } = must(created.alternative);
  return {
    created: {
      ...created,
      dueCoin: coin,
      dueAmount,
      rateLock,
      policy: { ...created.policy, tolerance, dustLimit },
      alternative: termsOf(created),
    },
    due: amountOf(dueAmount),
    tolerance: amountOf(tolerance),
  };
}

/** Only orders in another currency have an alternative coin, so there is a rate. */
const termsOf = ({ dueCoin, dueAmount, rateLock, policy }: SessionCreated['data']): CoinTerms => ({
  coin: dueCoin,
  dueAmount,
  rateLock: must(rateLock),
  tolerance: policy.tolerance,
  dustLimit: policy.dustLimit,
});
