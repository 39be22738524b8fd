import { amountOf } from './money.ts';
import type { Network } from './networks.ts';

/**
 * How much of a network's native coin the treasury may give away: what is sent and the most that fees can burn. Amounts
 * are decimal text in its units.
 */
export interface NativeLimits {
  readonly perTransaction: string;
  readonly perHour: string;
  readonly perDay: string;
  /** Ethereum and BSC: for a unit of gas, priority fee included. */
  readonly maxGasPriceGwei: string;
  readonly maxPriorityFeeGwei: string;
  /** Solana: for a compute unit. */
  readonly maxPriorityFeeMicroLamports: string;
}

const none = { maxGasPriceGwei: '0', maxPriorityFeeGwei: '0', maxPriorityFeeMicroLamports: '0' };

/** Enough for some hundred payouts a day on a dear day; an operator who pays out more says so. */
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

/** A decimal text of gwei in wei. */
export const gwei = (text: string): bigint => amountOf(text) / 10n ** 9n;
