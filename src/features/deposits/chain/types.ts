import type { RangeScanned } from '../../../domain/events/operations-events.ts';
import type {
  DepositConfirmed,
  DepositFacts,
  DepositReverted,
  FinalityRule,
} from '../../../domain/events/session-events.ts';
import type { SessionId } from '../../../domain/ids.ts';
import type { Network } from '../../../domain/networks.ts';
import type { Chain, IsOurs } from '../../../ports/chain.ts';
import type { Clock } from '../../../ports/clock.ts';

/** The session side. Each call resolves when the fact is durable; repeating one changes nothing. */
export interface DepositCommands {
  record(sessionId: SessionId, facts: DepositFacts): Promise<void>;
  confirm(sessionId: SessionId, data: DepositConfirmed['data'], network: Network): Promise<void>;
  /** A confirmed deposit is in another block. */
  move(sessionId: SessionId, facts: DepositFacts, headNumber: number): Promise<void>;
  revert(sessionId: SessionId, revert: RevertedDeposit, network: Network): Promise<void>;
}

export type RevertedDeposit = Pick<DepositReverted['data'], 'depositKey' | 'reason' | 'headNumber'>;

/** Every address ever given out in this mode and family (`AddressIndex`). */
export interface KnownAddresses {
  readonly isOurs: IsOurs;
  sessionOf(address: string): SessionId | null;
}

/** A deposit that the ledger knows and the chain may still take back, or give back. */
export interface PendingDeposit {
  readonly sessionId: SessionId;
  readonly facts: DepositFacts;
  readonly rule: FinalityRule;
  /** As the ledger has it: `final` after `DepositConfirmed`, `reverted` after `DepositReverted`. */
  readonly status: 'detected' | 'final' | 'reverted';
  /** How long ago it was reverted; only then. */
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
  /** The end of the newest `RangeScanned`: the durable cursor. Null on a first start. */
  lastCovered(): Promise<CoveredBlock | null>;
  /** Appends a `RangeScanned`; resolves when it is durable. */
  record(range: RangeScanned['data']): Promise<void>;
}

/** The evidence further back. */
export interface CoverageTrail extends Coverage {
  /** The newest `RangeScanned` that ends below the block; null when there is none. */
  coveredBelow(block: number): Promise<CoveredBlock | null>;
  /** Appends a `RangeScanned` to `rescans-<mode>-<network>`, beside the durable cursor. */
  recordAgain(range: RangeScanned['data']): Promise<void>;
}

/** What following deposits to their end needs of a chain, whether it is read by blocks or by accounts. */
export interface DepositTrackingDeps extends Pick<WatchChainDeps, 'deposits' | 'finalityRuleOf' | 'observer'> {
  readonly chain: Pick<Chain, 'network' | 'settings' | 'blockAt' | 'transferAt' | 'agreeOnFinality' | 'disprove'>;
  readonly addresses: Pick<KnownAddresses, 'sessionOf'>;
  /**
   * The chain never takes back what it called final: whatever it answers then, the deposit stays and the operator is
   * told.
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
   * The rule of the session's payment option on this network; `finalized` where the session did not offer the network.
   */
  readonly finalityRuleOf: (sessionId: SessionId, network: Network) => Promise<FinalityRule> | FinalityRule;
  /**
   * The deposits in status `detected`, those reverted within `REVISITED_SEC`, and the `final` ones in blocks from
   * `finalFrom` on; absent: in blocks above (or not far below) `Coverage.lastCovered`.
   */
  readonly pendingDeposits: (finalFrom?: number) => Promise<readonly PendingDeposit[]>;
  /**
   * Resolves once every address given out before the call is in `addresses`. It is awaited after the head was read, so
   * that no block is matched against an index that lags behind the sessions other nodes create.
   */
  readonly addressesComplete?: () => Promise<void>;
  /** Creation time of the oldest session, for a start without coverage; null when there is none yet. */
  readonly oldestSessionSec?: () => number | null;
  readonly observer?: WatchObserver;
}

export interface WatchChainOptions {
  /** How often the head is asked for. */
  readonly pollIntervalMs: number;
  /** The same while a payment waits for its block to become final; default `pollIntervalMs`. */
  readonly pollWhileWaitingMs?: number;
  /**
   * A local chain, whose node may come back a little behind the ledger after a kill. That is mended without an alarm:
   * reading begins again below, deposits that were only seen and are gone are reverted as in any reorganisation, and
   * those that were final stay final, since their webhooks are out and nobody can be blamed for a test chain. A
   * reorganisation of a node that did not get shorter is still one. Default false.
   */
  readonly sandbox?: boolean;
  /** Blocks asked for in one scan; the adapter may read fewer. Default 2,000. */
  readonly maxScanBlocks?: number;
  /** How often blocks that became final are read a second time. Default 15,000. */
  readonly secondReadingMs?: number;
  /** `RangeScanned` is written at most once in this time. Default 60,000. */
  readonly coverageIntervalMs?: number;
  /**
   * How far below the durable cursor hashes and final deposits are remembered, and scanning resumes where the ledger's
   * evidence does not tell where a deeper reorganisation began. Default 256.
   */
  readonly deepBlocks?: number;
}

export interface Reorg {
  readonly commonBlock: number;
  readonly depthBlocks: number;
  /** True when blocks changed that the chain had called final: an alarm. */
  readonly beyondFinality: boolean;
}

export type Anomaly =
  /** The second reading of final blocks found a transfer that the first one had not. */
  | { readonly kind: 'found-late'; readonly depositKey: string }
  /** A range came without a transfer that is known to be in it; it is read again. */
  | { readonly kind: 'incomplete-range'; readonly depositKey: string; readonly providers: readonly string[] }
  /** A provider has another final block at a height than the one seen before. */
  | { readonly kind: 'other-chain'; readonly blockNumber: number; readonly providers: readonly string[] }
  /** A command failed for a reason of its own; the deposit is retried and holds the durable cursor. */
  | { readonly kind: 'parked'; readonly depositKey: string; readonly error: unknown }
  /** The providers do not agree on the transfer, or a needed second one is not to be had: it stays as it is. */
  | { readonly kind: 'disputed'; readonly depositKey: string; readonly error: unknown }
  /**
   * Final blocks could not be read a second time, or what they hold contradicts what was answered: they stay without
   * evidence.
   */
  | { readonly kind: 'unproven'; readonly fromBlock: number; readonly error: unknown }
  /** No provider shows a transfer that is recorded, and nothing shows that the chain lost it: it stays as it is. */
  | { readonly kind: 'withheld'; readonly depositKey: string }
  /** A deposit that had been reverted is in the chain: it is recorded again. */
  | { readonly kind: 'returned'; readonly depositKey: string }
  /** One of our addresses holds final money that was never recorded. */
  | { readonly kind: 'unbooked'; readonly sessionId: string; readonly address: string }
  /**
   * An account's history does not add up to its balance, however often it is read: the balance is taken as it is for
   * now. Token base units.
   */
  | {
      readonly kind: 'unexplained';
      readonly sessionId: SessionId;
      readonly account: string;
      readonly balanceUnits: string;
      readonly explainedUnits: string;
    }
  /** Sandbox: a final deposit is not on the chain that came back; the ledger keeps it. */
  | { readonly kind: 'kept-final'; readonly depositKey: string };

export interface WatchStatus {
  readonly headBlock: number | null;
  readonly scannedBlock: number | null;
  readonly scannedToSec: number | null;
  readonly finalizedBlock: number | null;
  readonly coveredBlock: number | null;
  /** Deposits that can still change. */
  readonly trackedDeposits: number;
  readonly consecutiveFailures: number;
}

/** What an operator may want to count or be woken for. */
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
  /** Transfers to our addresses in the range, the known ones included. */
  readonly transfers: number;
  readonly providers: readonly string[];
  /** The last block that is recorded as read again, without a gap from the first one; null: none is. */
  readonly recordedTo: number | null;
}
