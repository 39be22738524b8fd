import { amountOf, COINS, isCoin, type Coin } from '../../domain/money/money.ts';
import type { OutgoingTransaction, Reserved } from '../../ports/outgoing/transaction.ts';
import type { Move } from '../../../state-machines/treasury/moves.state.ts';

/** What refunds and other moves have reserved in one treasury. */
export function reservedOf(
  refunds: readonly { readonly order: OutgoingTransaction }[],
  moves: readonly Move[] = [],
): Reserved {
  const coins: Partial<Record<Coin, bigint>> = {};
  for (const { coin, amount } of [...refunds.map(({ order }) => order), ...moves.map(({ terms }) => terms)])
    if (isCoin(coin)) coins[coin] = (coins[coin] ?? 0n) + amountOf(amount);
  return { coins, payouts: refunds.length + moves.length };
}

export function addedTo({ coins, payouts }: Reserved, more: Reserved): Reserved {
  const sums: Partial<Record<Coin, bigint>> = { ...coins };
  for (const coin of COINS) {
    const units = more.coins[coin];
    if (units !== undefined) sums[coin] = (sums[coin] ?? 0n) + units;
  }
  return { coins: sums, payouts: payouts + more.payouts };
}
