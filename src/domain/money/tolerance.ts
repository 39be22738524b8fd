import { COIN_MAX_DECIMALS } from './currencies.ts';
import type { MerchantPolicy } from '../events/merchant-events.ts';
import { amountOf, least, roundedDown } from './money.ts';
import { basisPointsOf } from './percent.ts';
import { must } from '../values/must.ts';

/** The operator's bounds: a share of what is due, and units of the coin. */
export interface ToleranceBounds {
  readonly maxPercent: number;
  readonly max: string;
}

/**
 * How much of the amount due may be missing, in 10^-18 units. Without a percentage it is the amount that the merchant
 * set; with one it is the percentage, capped by an amount above zero. Never more than the operator's bounds.
 */
export function toleranceOf(
  { tolerance, tolerancePercent }: TolerancePolicy,
  due: bigint,
  { maxPercent, max }: ToleranceBounds,
): bigint {
  const amount = amountOf(tolerance);
  const bound = least((due * BigInt(maxPercent)) / 100n, amountOf(max));
  if (tolerancePercent === undefined || tolerancePercent === null) return least(amount, bound);
  const share = (due * BigInt(must(basisPointsOf(tolerancePercent)))) / 10_000n;
  return roundedDown(least(amount === 0n ? share : least(share, amount), bound), COIN_MAX_DECIMALS);
}

type TolerancePolicy = Pick<MerchantPolicy, 'tolerance' | 'tolerancePercent'>;
