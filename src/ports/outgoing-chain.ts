import type { BlockRange } from '../domain/events/treasury-move-events.ts';
import type { UsedNonces } from '../domain/events/treasury-events.ts';
import type { TransactionDraft } from '../domain/events/transaction-draft.ts';
import type { Mode } from '../domain/ids.ts';
import type { Coin } from '../domain/money.ts';
import type { NativeCoin, Network, NetworkSettings } from '../domain/networks.ts';
import type {
  Fate,
  LandedCheck,
  LandedTransaction,
  OutgoingTransaction,
  PreCheck,
  Reserved,
  SentTransaction,
} from './outgoing.ts';

export interface AccountBalances {
  /** 10^-18 units by coin. */
  readonly coins: Readonly<Partial<Record<Coin, bigint>>>;
  readonly native: bigint;
}

/** Sends money of our own accounts on one network. Reads throw `ChainUnavailable`. */
export interface OutgoingChain {
  readonly network: Network;
  readonly mode: Mode;
  readonly settings: NetworkSettings;
  /** `atLeast`: a block that the answering provider must have; one that lags is passed over. */
  balances(address: string, atLeast?: number): Promise<AccountBalances>;
  /** What many addresses hold, in the order asked and in few calls; by final state where the chain serves that. */
  finalBalances(addresses: readonly string[]): Promise<readonly AccountBalances[]>;
  /** Balance, gas, freezes and pauses, as the chain has them now. */
  check(order: OutgoingTransaction, reserved: Reserved): Promise<PreCheck>;
  /** The next number of an account's own sequence, as far as blocks have come; null where the chain numbers none. */
  nextNonce(address: string): Promise<number | null>;
  /**
   * A transaction ready to be signed, at today's fees; null while nothing is free to tell it apart by
   * (`sequence_busy`). `nonce` is null where the chain has none.
   */
  draft(order: OutgoingTransaction, nonce: number | null, used: UsedNonces): Promise<TransactionDraft | null>;
  /**
   * What the network would take for a sweep at today's price, with the top-up that it needs first, in 10^-18 units of
   * the native coin: an estimate.
   */
  sweepFee(order: OutgoingTransaction): Promise<bigint>;
  /** What the fee of a return of native coin may take, in 10^-18 units, and may come to until two people agreed. */
  returnFee(order: OutgoingTransaction): Promise<bigint>;
  /** An account that the treasury must make before more of its transactions can be out; null where none is wanted. */
  missingAccount?(treasury: string, used: UsedNonces): Promise<MissingAccount | null>;
  /**
   * The same at a fee the network would take now; null while the old fee is good enough or the chain cannot replace.
   */
  bump(draft: TransactionDraft): Promise<TransactionDraft | null>;
  /**
   * A transaction that moves nothing and excludes the one drawn up; null while it would cost more than the limit
   * allows. Absent where nothing that is signed keeps what comes after it from landing.
   */
  cancel?(draft: TransactionDraft): Promise<TransactionDraft | null>;
  /** Hands the bytes to every provider. What they answer proves nothing, so there is no answer. */
  broadcast(sent: SentTransaction): Promise<void>;
  /** Newest last. */
  fate(order: OutgoingTransaction, sent: readonly SentTransaction[]): Promise<Fate>;
  /** Whether a transaction that had landed is still in the chain. */
  hasVanished(landed: Pick<LandedTransaction, 'txHash' | 'blockNumber' | 'blockHash'>): Promise<LandedCheck>;
  /** How long a transaction may stay out before its fee is looked at again. */
  readonly bumpAfterMs: number;
  /** The highest block that the chain calls final. */
  finalBlock(): Promise<number>;
  /**
   * What transactions that are not ours took from an address, from a block to the newest one, each with its fee where
   * the address paid it.
   */
  outflows(address: string, fromBlock: number, strangersAmong: StrangersAmong): Promise<readonly SeenOutflow[]>;
  /** The newest block, final or not. */
  newestBlock(): Promise<number>;
  /**
   * What transactions that are not ours brought to an address, as far as the chain tells and within a bound of calls.
   */
  inflows(address: string, sought: SoughtInflows, strangersAmong: StrangersAmong): Promise<readonly SeenInflow[]>;
  close(): Promise<void>;
}

export interface MissingAccount {
  readonly index: number;
  readonly address: string;
  /** 10^-18 units of the native coin. */
  readonly rent: bigint;
}

/** Those of the transactions that we never signed. */
export type StrangersAmong = (txHashes: readonly string[]) => Promise<ReadonlySet<string>>;

/** Some coins are dearer to look for than others, so those wanted are named. */
export interface SoughtInflows extends BlockRange {
  readonly coins: readonly (Coin | NativeCoin)[];
}

/** What one transfer brought to one of our addresses, as the chain shows it. */
export interface SeenInflow {
  readonly coin: Coin | NativeCoin;
  /** 10^-18 units. */
  readonly units: bigint;
  /** Null where the chain names no single one. */
  readonly fromAddress: string | null;
  readonly txHash: string;
  readonly logIndex: number | null;
  readonly blockNumber: number;
}

/** What one transaction took from one of our addresses, as the chain shows it. */
export interface SeenOutflow {
  /** Null, as `units` is, for a transaction of the address that moved none of our coins. */
  readonly coin: Coin | NativeCoin | null;
  /** 10^-18 units. */
  readonly units: bigint | null;
  /** Null where it went to several, or as a fee. */
  readonly toAddress: string | null;
  readonly txHash: string;
  /** Tells the outflows of one transaction apart: the place of its log, or a word. */
  readonly part: string;
  readonly blockNumber: number;
}
