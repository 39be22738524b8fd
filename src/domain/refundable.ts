import { COIN_MAX_DECIMALS } from './currencies.ts';
import type { DepositKind } from './events/session-events.ts';
import { fromTokenUnits } from './money.ts';

/**
 * The least that a refund can be asked for, in 10^-18 units: less than this of a deposit is worth nobody's transaction.
 */
const LEAST_REFUND = fromTokenUnits(1n, COIN_MAX_DECIMALS);

interface FinalDeposit {
  readonly kind: DepositKind;
  readonly fromAddress: string | null;
  /** What refunds left of it, in 10^-18 units. */
  readonly left: bigint;
}

/**
 * What a refund that names no deposit may take of one: nothing of dust, and nothing of money without a single payer.
 */
export const refundableOf = ({ kind, fromAddress, left }: FinalDeposit): bigint =>
  kind === 'dust' || fromAddress === null || left < LEAST_REFUND ? 0n : left;
