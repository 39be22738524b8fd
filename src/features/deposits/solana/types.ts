import type { AccountChain } from '../../../ports/account-chain.ts';
import type { Coverage, DepositTrackingDeps, WatchChainDeps, WatchObserver } from '../chain/types.ts';
import type { WatchedOwners } from './owners.ts';

export interface WatchSolanaDeps
  extends
    Pick<WatchChainDeps, 'clock' | 'pendingDeposits' | 'addressesComplete'>,
    Omit<DepositTrackingDeps, 'chain' | 'observer'> {
  readonly coverage: Coverage;
  readonly chain: AccountChain;
  /** Every owner ever given out in this mode, fed by the ledger; `addressesComplete` covers it too. */
  readonly owners: WatchedOwners;
  readonly observer?: WatchObserver;
  /**
   * Token base units by token account that the books hold, read once at the start. A balance that equals them is read
   * through its history later than others, so that thousands of paid sessions do not keep the rest waiting after a
   * start.
   */
  readonly booked?: () => Promise<Iterable<readonly [account: string, units: bigint]>>;
  /** Default: the system's monotonic time. */
  readonly pace?: Pace;
}

/** Time that only goes forward, and a way to let it pass. */
export interface Pace {
  nowMs(): number;
  /** Resolves after the time, or at once when the signal says so. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface WatchSolanaOptions {
  /** How often the accounts of young and of expiring sessions are looked at. */
  readonly pollIntervalMs: number;
  /** Other open sessions. Default: five polls. */
  readonly waitingIntervalMs?: number;
  /**
   * Each session that ended within the last day is looked at once in this time, and at once after a start. Default
   * 60,000.
   */
  readonly recentIntervalMs?: number;
  /** Each older session is looked at once in this time, in which restarts do not count. Default 6 hours. */
  readonly oldIntervalMs?: number;
  /** `RangeScanned` is written at most once in this time. Default 60,000. */
  readonly coverageIntervalMs?: number;
  /**
   * A balance that its whole history does not explain for this long is taken as it is, with an alarm. Default 60,000.
   */
  readonly unexplainedAfterMs?: number;
  /**
   * The chain that the ledger knows is gone and this is a new one (sandbox only): what was seen but not final is
   * reverted, what was final is kept, and neither is a reorganisation.
   */
  readonly isNewChain?: boolean;
}
