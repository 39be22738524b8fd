import { amountOf, isCoin, type Coin } from '../../domain/money.ts';
import type { PayoutOrder, Reserved } from '../../ports/payouts.ts';
import type { Move } from '../../../state-machines/treasury/moves.state.ts';

/** What refunds and other moves may still take from one treasury. */
export function reservedOf(refunds: readonly { readonly order: PayoutOrder }[], moves: readonly Move[] = []): Reserved {
  const coins: Partial<Record<Coin, bigint>> = {};
  for (const { order } of refunds) coins[order.coin] = (coins[order.coin] ?? 0n) + amountOf(order.amount);
  for (const { terms } of moves) if (isCoin(terms.coin)) coins[terms.coin] = (coins[terms.coin] ?? 0n) + amountOf(terms.amount);
  return { coins, payouts: refunds.length + moves.length };
}

export function addedTo({ coins, payouts }: Reserved, more: Reserved): Reserved {
  const sums: Partial<Record<Coin, bigint>> = { ...coins };
  for (const [coin, units] of Object.entries(more.coins) as [Coin, bigint][]) sums[coin] = (sums[coin] ?? 0n) + units;
  return { coins: sums, payouts: payouts + more.payouts };
}
