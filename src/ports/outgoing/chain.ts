import type { BlockRange } from '../../domain/events/treasury-move-events.ts';
import type { UsedNonces } from '../../domain/events/treasury-events.ts';
import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { NativeCoin, Network, NetworkSettings } from '../../domain/networks/networks.ts';
import type {
  Funding,
  Fate,
  LandedCheck,
  LandedTransaction,
  OutgoingTransaction,
  PreCheck,
  Reserved,
  SentTransaction,
} from './transaction.ts';

export interface AccountBalances {
  /** 10^-18 units by coin. */
  readonly coins: Readonly<Partial<Record<Coin, bigint>>>;
  readonly native: bigint;
}

/** Balances, and the provider that showed them. */
export interface ShownBalances extends AccountBalances {
  readonly provider: string;
}

/** What one provider said to a broadcast. */
export interface BroadcastAnswer {
  readonly provider: string;
  /** `taken`: or known already. `refused`: for another reason than its price. `silent`: no answer. */
  readonly kind: 'taken' | 'underpriced' | 'refused' | 'silent';
  readonly text: string;
}

/** Sends money from our own accounts on one network. Reads throw `ChainUnavailable`. */
export interface OutgoingChain {
  readonly network: Network;
  readonly mode: Mode;
  readonly settings: NetworkSettings;
  /**
   * `atLeast`: a block that the answering provider must have; a lagging one is skipped. Providers of the list are asked
   * only if no other answers, in its order.
   */
  balances(address: string, atLeast?: number, preferOtherThan?: readonly string[]): Promise<ShownBalances>;
  /** What an address holds in other accounts than those of `balances`, where a chain has such; 10^-18 units. */
  heldElsewhere?(address: string): Promise<Partial<Record<Coin, bigint>>>;
  /** Balances of many addresses in the given order, in few calls; in final state if the chain serves that. */
  finalBalances(addresses: readonly string[], preferOtherThan?: readonly string[]): Promise<readonly AccountBalances[]>;
  /** Checks balance, gas, freezes and pauses in the current state. */
  check(order: OutgoingTransaction, reserved: Reserved): Promise<PreCheck>;
  /** The next nonce of an account according to blocks; null on chains without nonces. */
  nextNonce(address: string): Promise<number | null>;
  /**
   * A transaction ready to sign at current fees; null while nothing is free to make it unique (`sequence_busy`).
   * `nonce` is null on chains without nonces.
   */
  draft(order: OutgoingTransaction, nonce: number | null, used: UsedNonces): Promise<TransactionDraft | null>;
  /** Estimated cost of a sweep at current prices, including its top-up, in 10^-18 units of the native coin. */
  sweepFee(order: OutgoingTransaction): Promise<bigint>;
  /** The highest fee that a return of native coin may cost until two people have approved it, in 10^-18 units. */
  returnFee(order: OutgoingTransaction): Promise<bigint>;
  /**
   * An account that the treasury must create before more of its transactions can be in flight; null if none is needed.
   */
  missingAccount?(treasury: string, used: UsedNonces): Promise<MissingAccount | null>;
  /**
   * The same transaction at a fee that the network would accept now; null if the chain cannot replace, or the fee would
   * exceed the limit or, for a sweep, the gas that its address holds.
   */
  bump(draft: TransactionDraft, order?: OutgoingTransaction): Promise<TransactionDraft | null>;
  /**
   * A transaction that moves nothing and excludes the drafted one; null while it would exceed the fee limit. Absent on
   * chains where a signed transaction never blocks later ones.
   */
  cancel?(draft: TransactionDraft): Promise<TransactionDraft | null>;
  /** Sends the bytes to every provider. What they answer proves nothing; it is for people, and for the fee. */
  broadcast(sent: SentTransaction): Promise<readonly BroadcastAnswer[]>;
  /** `sent` is oldest first. */
  fate(order: OutgoingTransaction, sent: readonly SentTransaction[]): Promise<Fate>;
  /**
   * Whether two providers, if two are configured, show all these transactions in final blocks, with effect. What is not
   * shown may still be there.
   */
  holds(funding: readonly Funding[]): Promise<boolean>;
  /** Whether a landed transaction is still in the chain. */
  hasVanished(landed: Pick<LandedTransaction, 'txHash' | 'blockNumber' | 'blockHash'>): Promise<LandedCheck>;
  /** How long a transaction may be in flight before its fee is reviewed. */
  readonly bumpAfterMs: number;
  /** The highest block that the chain calls final. */
  finalBlock(): Promise<number>;
  /**
   * What transactions other than ours took from an address, from a block to the newest one, each with its fee if the
   * address paid it.
   */
  outflows(address: string, fromBlock: number, strangersAmong: StrangersAmong): Promise<readonly SeenOutflow[]>;
  /** The newest block, final or not. */
  newestBlock(): Promise<number>;
  /** What transactions other than ours brought to an address, as far as the chain shows, within a limit of calls. */
  inflows(address: string, sought: SoughtInflows, strangersAmong: StrangersAmong): Promise<readonly SeenInflow[]>;
  close(): Promise<void>;
}

export interface MissingAccount {
  readonly index: number;
  readonly address: string;
  /** 10^-18 units of the native coin. */
  readonly rent: bigint;
}

/** The transactions among these that we never signed. */
export type StrangersAmong = (txHashes: readonly string[]) => Promise<ReadonlySet<string>>;

/** Some coins are more expensive to search for, so the wanted ones are named. */
export interface SoughtInflows extends BlockRange {
  readonly coins: readonly (Coin | NativeCoin)[];
}

/** One transfer to one of our addresses, as the chain shows it. */
export interface SeenInflow {
  readonly coin: Coin | NativeCoin;
  /** 10^-18 units. */
  readonly units: bigint;
  /** Null unless the chain names exactly one. */
  readonly fromAddress: string | null;
  readonly txHash: string;
  readonly logIndex: number | null;
  readonly blockNumber: number;
}

/** What one transaction took from one of our addresses, as the chain shows it. */
export interface SeenOutflow {
  /** Null, like `units`, for a transaction of the address that moved none of our coins. */
  readonly coin: Coin | NativeCoin | null;
  /** 10^-18 units. */
  readonly units: bigint | null;
  /** Null if it went to several addresses, or was a fee. */
  readonly toAddress: string | null;
  readonly txHash: string;
  /** Distinguishes the outflows of one transaction: a log index, or a word. */
  readonly part: string;
  readonly blockNumber: number;
}
