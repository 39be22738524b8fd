import { amountOf } from '../money/money.ts';
import type { Network } from './networks.ts';

/**
 * Limits on how much native coin the treasury may spend: the amount sent plus the highest possible fees. Amounts are
 * decimal text in units of the coin.
 */
export interface NativeLimits {
  readonly perTransaction: string;
  readonly perHour: string;
  readonly perDay: string;
  /** Ethereum and BSC: per unit of gas, including the priority fee. */
  readonly maxGasPriceGwei: string;
  readonly maxPriorityFeeGwei: string;
  /** Solana: per compute unit. */
  readonly maxPriorityFeeMicroLamports: string;
}

const none = { maxGasPriceGwei: '0', maxPriorityFeeGwei: '0', maxPriorityFeeMicroLamports: '0' };

/** Enough for several hundred payouts on a day of high fees; an operator with more payouts raises it. */
const DEFAULT_NATIVE_LIMITS: Readonly<Record<Network, NativeLimits>> = {
  ethereum: {
    ...none,
    perTransaction: '0.1',
    perHour: '1',
    perDay: '4',
    maxGasPriceGwei: '300',
    maxPriorityFeeGwei: '50',
  },
  bsc: {
    ...none,
    perTransaction: '0.02',
    perHour: '0.5',
    perDay: '2',
    maxGasPriceGwei: '30',
    maxPriorityFeeGwei: '30',
  },
  tron: { ...none, perTransaction: '160', perHour: '4000', perDay: '20000' },
  solana: { ...none, perTransaction: '0.01', perHour: '0.5', perDay: '3', maxPriorityFeeMicroLamports: '25000000' },
};

export type NativeLimitsChange = Readonly<Partial<Record<Network, Partial<NativeLimits>>>>;

export const nativeLimitsOf = (network: Network, change: NativeLimitsChange = {}): NativeLimits => ({
  ...DEFAULT_NATIVE_LIMITS[network],
  ...change[network],
});

/** Converts gwei as decimal text to wei. */
export const gwei = (text: string): bigint => amountOf(text) / 10n ** 9n;
