import { decimalsOf } from '../domain/money/money.ts';

/**
 * With two, four, six or more decimals, but never three: where a point groups digits, 5.405 reads as five thousand.
 */
export function evenDecimals(amount: string): string {
  const decimals = decimalsOf(amount);
  return decimals % 2 === 0 ? amount : `${amount}0`;
}

/** An amount of a coin as pages write it: as wallets do, with at least two decimals and an even number of them. */
export const coinText = (amount: string): string => evenDecimals(amount.includes('.') ? amount : `${amount}.00`);
