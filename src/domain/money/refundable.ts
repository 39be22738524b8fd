import { COIN_MAX_DECIMALS } from './currencies.ts';
import type { DepositKind } from '../events/session-events.ts';
import { fromTokenUnits } from './money.ts';

/** The smallest refund that can be requested, in 10^-18 units: less than this is not worth a transaction. */
const LEAST_REFUND = fromTokenUnits(1n, COIN_MAX_DECIMALS);

interface FinalDeposit {
  readonly kind: DepositKind;
  readonly fromAddress: string | null;
  /** What refunds left of it, in 10^-18 units. */
  readonly left: bigint;
}

/**
 * How much of a deposit a refund that names none may use: nothing of dust, of our own money, and of money without a
 * single payer.
 */
export const refundableOf = ({ kind, fromAddress, left }: FinalDeposit): bigint =>
  kind === 'dust' || kind === 'own' || fromAddress === null || left < LEAST_REFUND ? 0n : left;
