import { COIN_MAX_DECIMALS } from './currencies.ts';
import type { MerchantPolicy } from './events/merchant-events.ts';
import { amountOf, least, roundedDown } from './money.ts';
import { basisPointsOf } from './percent.ts';
import { must } from './must.ts';

/**
 * What may be missing of what is due, in 10^-18 units. Without a share it is the amount that the merchant set; with one
 * it is the share, and an amount above zero caps it. Never more than the operator's percentage.
 */
export function toleranceOf({ tolerance, tolerancePercent }: TolerancePolicy, due: bigint, maxPercent: number): bigint {
  const amount = amountOf(tolerance);
  const bound = (due * BigInt(maxPercent)) / 100n;
  if (tolerancePercent === undefined || tolerancePercent === null) return least(amount, bound);
  const share = (due * BigInt(must(basisPointsOf(tolerancePercent)))) / 10_000n;
  return roundedDown(least(amount === 0n ? share : least(share, amount), bound), COIN_MAX_DECIMALS);
}

type TolerancePolicy = Pick<MerchantPolicy, 'tolerance' | 'tolerancePercent'>;
