import type { RangeScanned } from '../../../domain/events/operations-events.ts';
import type {
  DepositConfirmed,
  DepositFacts,
  DepositReverted,
  FinalityRule,
} from '../../../domain/events/session-events.ts';
import type { SessionId } from '../../../domain/values/ids.ts';
import type { Network } from '../../../domain/networks/networks.ts';
import type { Chain, IsOurs } from '../../../ports/chain/chain.ts';
import type { Clock } from '../../../ports/clock.ts';

/** Commands to sessions. Each resolves once the fact is durable; repeating one changes nothing. */
export interface DepositCommands {
  /** Takes the transfers of one reading. */
  record(sessionId: SessionId, transfers: readonly DepositFacts[]): Promise<ReadonlyMap<string, RecordedAs>>;
  confirm(sessionId: SessionId, data: readonly DepositConfirmed['data'][], network: Network): Promise<void>;
  /** Returns the deposits that were made of them. */
  countTogether(
    sessionId: SessionId,
    transfers: readonly DepositFacts[],
    headNumber: number,
  ): Promise<readonly DepositFacts[]>;
  /** A confirmed deposit is in another block. True when its session waits for it to become final anew. */
  move(sessionId: SessionId, facts: DepositFacts, headNumber: number): Promise<boolean>;
  revert(sessionId: SessionId, revert: RevertedDeposit, network: Network): Promise<void>;
}

/** `kept` as a deposit of its own, or too `small` for that and left to `countTogether`; absent if counted before. */
export type RecordedAs = 'kept' | 'small';

export type RevertedDeposit = Pick<DepositReverted['data'], 'depositKey' | 'reason' | 'headNumber'>;

/** Every address ever assigned in this mode and family (`AddressIndex`). */
export interface KnownAddresses {
  readonly isOurs: IsOurs;
  sessionOf(address: string): SessionId | null;
}

/** A recorded deposit that the chain may still revert or restore. */
export interface PendingDeposit {
  readonly sessionId: SessionId;
  readonly facts: DepositFacts;
  readonly rule: FinalityRule;
  /** Its recorded status: `final` after `DepositConfirmed`, `reverted` after `DepositReverted`. */
  readonly status: 'detected' | 'final' | 'reverted';
  /** How long ago it was reverted; only for reverted deposits. */
  readonly revertedForSec?: number;
}

export interface CoveredBlock {
  readonly block: number;
  readonly hash: string;
  readonly timeSec: number;
  readonly sweeps?: RangeScanned['data']['sweeps'];
}

/** The stream `coverage-<mode>-<network>`. */
export interface Coverage {
  /** The end of the newest `RangeScanned`, which is the durable cursor. Null on a first start. */
  lastCovered(): Promise<CoveredBlock | null>;
  /** Appends a `RangeScanned`; resolves when it is durable. */
  record(range: RangeScanned['data']): Promise<void>;
}

/** Coverage with access to older evidence. */
export interface CoverageTrail extends Coverage {
  /** The newest `RangeScanned` that ends below the block; null if there is none. */
  coveredBelow(block: number): Promise<CoveredBlock | null>;
  /** Appends a `RangeScanned` to `rescans-<mode>-<network>` without moving the durable cursor. */
  recordAgain(range: RangeScanned['data']): Promise<void>;
}

/** What tracking deposits to finality needs of a chain, whether it is read by blocks or by accounts. */
export interface DepositTrackingDeps extends Pick<WatchChainDeps, 'deposits' | 'finalityRuleOf' | 'observer'> {
  readonly chain: Pick<Chain, 'network' | 'settings' | 'blockAt' | 'transferAt' | 'agreeOnFinality' | 'disprove'>;
  readonly addresses: Pick<KnownAddresses, 'sessionOf'>;
  /**
   * The chain never reverts what it called final. Whatever it answers later, the deposit stays and the operator is
   * alerted.
   */
  readonly finalIsForever?: boolean;
}

export interface WatchChainDeps {
  readonly chain: Chain;
  readonly addresses: KnownAddresses;
  readonly deposits: DepositCommands;
  readonly coverage: CoverageTrail;
  readonly clock: Clock;
  /**
   * The finality rule of the session's payment option on this network; `finalized` if the session did not offer the
   * network.
   */
  readonly finalityRuleOf: (sessionId: SessionId, network: Network) => Promise<FinalityRule> | FinalityRule;
  /**
   * Deposits that are `detected`, those reverted within `REVISITED_SEC`, and those that are `final` in blocks from
   * `finalFrom` on. Without `finalFrom`: in blocks above (or not far below) `Coverage.lastCovered`.
   */
  readonly pendingDeposits: (finalFrom?: number) => Promise<readonly PendingDeposit[]>;
  /**
   * Resolves once `addresses` contains every address assigned before the call. Awaited after reading the head, so that
   * no block is matched against an index that lags behind sessions created by other nodes.
   */
  readonly addressesComplete?: () => Promise<void>;
  /** Creation time of the oldest session, for a start without coverage; null if there is none yet. */
  readonly oldestSessionSec?: () => number | null;
  /** Absent: as if a payment were expected all the time. */
  readonly awaited?: AwaitedPayments;
  readonly observer?: WatchObserver;
}

export interface WatchChainOptions {
  /** Interval of polling the head. */
  readonly pollIntervalMs: number;
  /** The same after a poll that found a new head, where blocks come at an even pace; default `pollIntervalMs`. */
  readonly pollAfterBlockMs?: number;
  /** The same while a payment waits for finality; default `pollIntervalMs`. */
  readonly pollWhileWaitingMs?: number;
  /**
   * A local chain, whose node may come back with an older state after a kill. This is repaired without an alarm:
   * reading resumes further below, lost deposits that were only detected are reverted, and those that were final stay
   * final, because their webhooks are out and a test chain has no culprit. A reorganisation on a node whose chain did
   * not get shorter still counts as one. Default false.
   */
  readonly sandbox?: boolean;
  /** Number of blocks requested per scan; the adapter may read fewer. Default 2,000. */
  readonly maxScanBlocks?: number;
  /** Interval of the second reading of final blocks. Default 15,000. */
  readonly secondReadingMs?: number;
  /** Minimum time between two `RangeScanned` events. Default 60,000. */
  readonly coverageIntervalMs?: number;
  /** How a network is read on which nobody is expected to pay; default `IDLE`. */
  readonly idle?: IdlePace;
  /**
   * How far below the durable cursor hashes and final deposits are kept in memory, and where scanning resumes if the
   * evidence does not tell where a deeper reorganisation began. Default 256.
   */
  readonly deepBlocks?: number;
}

/** Sessions that can still be paid and offer the network. */
export interface AwaitedPayments {
  isAwaited(): boolean;
  /** Calls the listener when the first one appears. Returns the function that unsubscribes. */
  onAwaited(listener: () => void): () => void;
}

/** The pace of a network on which no session is open and nothing was paid lately. */
export interface IdlePace {
  /** How long after the last need the network counts as idle: payments that come late come soon. */
  readonly afterMs: number;
  /** Interval of polling the head. Less than what counts as an outage (`outageSince`). */
  readonly pollIntervalMs: number;
  /** Interval of the second reading. */
  readonly secondReadingMs: number;
  /** Minimum time between two `RangeScanned` events without a transfer to us; a kill costs reading this much again. */
  readonly coverageIntervalMs: number;
}

export const IDLE: IdlePace = {
  afterMs: 600_000,
  pollIntervalMs: 60_000,
  secondReadingMs: 300_000,
  coverageIntervalMs: 3_600_000,
};

export interface Reorg {
  readonly commonBlock: number;
  readonly depthBlocks: number;
  /** True if blocks changed that the chain had finalised, which is an alarm. */
  readonly beyondFinality: boolean;
}

/** The session is named where the anomaly concerns one. */
export type Anomaly = AnomalyFacts & { readonly sessionId?: string | null };

type AnomalyFacts =
  /** The second reading of final blocks found a transfer that the first one missed. */
  | { readonly kind: 'found-late'; readonly depositKey: string }
  /** A range was returned without a transfer known to be in it. It is read again. */
  | { readonly kind: 'incomplete-range'; readonly depositKey: string; readonly providers: readonly string[] }
  /** A provider has a different final block at a height than the one seen before. */
  | { readonly kind: 'other-chain'; readonly blockNumber: number; readonly providers: readonly string[] }
  /** A command failed for a reason of its own. The deposit is retried and holds back the durable cursor. */
  | { readonly kind: 'parked'; readonly depositKey: string; readonly error: unknown }
  /** The providers disagree about the transfer, or a required second one is unavailable. Its status stays as it is. */
  | { readonly kind: 'disputed'; readonly depositKey: string; readonly error: unknown }
  /**
   * Final blocks could not be read a second time, or the second reading contradicts the first. They remain without
   * evidence.
   */
  | { readonly kind: 'unproven'; readonly fromBlock: number; readonly error: unknown }
  /** No provider returns a recorded transfer, and nothing shows that the chain lost it. Its status stays as it is. */
  | { readonly kind: 'withheld'; readonly depositKey: string }
  /** A reverted deposit is on the chain again and is recorded again. */
  | { readonly kind: 'returned'; readonly depositKey: string }
  /** One of our addresses holds final money that was never recorded. */
  | { readonly kind: 'unbooked'; readonly sessionId: string; readonly address: string }
  /**
   * An account's history repeatedly fails to add up to its balance, so the balance is accepted for now. Token base
   * units.
   */
  | {
      readonly kind: 'unexplained';
      readonly sessionId: SessionId;
      readonly account: string;
      readonly balanceUnits: string;
      readonly explainedUnits: string;
    }
  /** Sandbox: a final deposit is missing from the rewound chain; the event log keeps it. */
  | { readonly kind: 'kept-final'; readonly depositKey: string };

export interface WatchStatus {
  readonly headBlock: number | null;
  readonly scannedBlock: number | null;
  readonly scannedToSec: number | null;
  readonly finalizedBlock: number | null;
  readonly coveredBlock: number | null;
  /** Number of deposits that can still change. */
  readonly trackedDeposits: number;
  readonly consecutiveFailures: number;
  /**
   * Blocks read in a second of reading, for each that the chain makes in it: below 1 reading falls behind. Null while
   * that is not known; absent where a network is not read by blocks.
   */
  readonly readPace?: number | null;
}

/** Events that an operator may want to count or be alerted to. */
export interface WatchObserver {
  onReorg?(reorg: Reorg): void;
  /** `afterFinal` is an alarm. */
  onReverted?(reverted: {
    readonly sessionId: SessionId;
    readonly depositKey: string;
    readonly afterFinal: boolean;
  }): void;
  onAnomaly?(anomaly: Anomaly): void;
  onTrouble?(trouble: { readonly error: unknown; readonly consecutiveFailures: number }): void;
  onTick?(status: WatchStatus): void;
}

export interface RescanResult {
  readonly fromBlock: number;
  readonly toBlock: number;
  /** Transfers to our addresses in the range, including known ones. */
  readonly transfers: number;
  readonly providers: readonly string[];
  /** The last block recorded as read again without a gap since the first one; null if there is none. */
  readonly recordedTo: number | null;
}
