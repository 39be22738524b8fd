import type { AccountChain } from '../../../ports/chain/account-chain.ts';
import type { Coverage, DepositTrackingDeps, IdlePace, WatchChainDeps, WatchObserver } from '../chain/types.ts';
import type { WatchedOwners } from './owners.ts';

export interface WatchSolanaDeps
  extends
    Pick<WatchChainDeps, 'clock' | 'pendingDeposits' | 'addressesComplete' | 'awaited'>,
    Omit<DepositTrackingDeps, 'chain' | 'observer'> {
  readonly coverage: Coverage;
  readonly chain: AccountChain;
  /** Every owner ever assigned in this mode, fed from the event log. `addressesComplete` covers it too. */
  readonly owners: WatchedOwners;
  readonly observer?: WatchObserver;
  /**
   * Token base units per token account in the books, read once at the start. Accounts whose balance equals them have
   * their history read later, so that thousands of paid sessions do not delay the others after a start.
   */
  readonly booked?: () => Promise<Iterable<readonly [account: string, units: bigint]>>;
  /** Default: the system's monotonic time. */
  readonly pace?: Pace;
}

/** A monotonic clock with a way to wait. */
export interface Pace {
  nowMs(): number;
  /** Resolves after the time, or at once when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface WatchSolanaOptions {
  /** Polling interval for young and expiring sessions. */
  readonly pollIntervalMs: number;
  /** Polling interval for other open sessions. Default: five polls. */
  readonly waitingIntervalMs?: number;
  /**
   * Each session that ended within the last day is read once per interval, and at once after a start. Default 60,000.
   */
  readonly recentIntervalMs?: number;
  /** Each older session is read once per interval, not counting downtime. Default 6 hours. */
  readonly oldIntervalMs?: number;
  /** Minimum time between two `RangeScanned` events. Default 60,000. */
  readonly coverageIntervalMs?: number;
  /** Minimum time between two counts of small transfers. Default 15,000. */
  readonly countIntervalMs?: number;
  /** How the accounts are read while nobody is expected to pay; default `IDLE`. */
  readonly idle?: Omit<IdlePace, 'secondReadingMs'>;
  /** After this time a balance that its whole history does not explain is accepted with an alarm. Default 60,000. */
  readonly unexplainedAfterMs?: number;
  /**
   * The chain that the event log knows is gone and this is a new one (sandbox only). Deposits that were only detected
   * are reverted and final ones are kept; neither counts as a reorganisation.
   */
  readonly isNewChain?: boolean;
}
