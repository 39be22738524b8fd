import type { FacadeReceipt } from './journal.ts';

/** What an account may use without paying for it: the bandwidth that each has for free, and energy of staked TRX. */
export interface Resources {
  readonly bandwidth: bigint;
  readonly energy: bigint;
}

/** Of an activated account (main network). */
export const FREE_BANDWIDTH = 600n;
/** After this time the sandbox counts it as not used; the network gives it back little by little. */
export const RECOVERY_MS = 86_400_000;

/** What a transaction used of them. */
export const usedIn = ({ receipt }: FacadeReceipt): Resources => ({
  bandwidth: BigInt(receipt['net_usage'] ?? 0),
  energy: BigInt(receipt['energy_usage'] ?? 0),
});
