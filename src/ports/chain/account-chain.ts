import type { DepositFacts, FinalityRule } from '../../domain/events/session-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network, NetworkSettings, Token } from '../../domain/networks/networks.ts';
import type { Block, Disproof, Transfer } from './chain.ts';

/** An account that holds one token for one owner; money sent to the owner arrives here. */
export interface TokenAccount {
  readonly account: string;
  readonly owner: string;
  readonly token: Token;
}

/** Balances at one moment. */
export interface BalanceLook {
  /** Token base units in the requested order; 0 if the account does not exist or is invalid. */
  readonly units: readonly bigint[];
  /** The balances include everything up to this slot; the oldest one if several calls were needed. */
  readonly slot: number;
  /** Chain time of that slot. */
  readonly timeSec: number;
  readonly providers: readonly string[];
}

/** One transaction that touched an account. */
export interface HistoryEntry {
  readonly txHash: string;
  readonly slot: number;
  /** True if it is in the chain without effect. */
  readonly failed: boolean;
}

export interface HistoryOptions {
  /** `confirmed` includes what may still vanish, `finalized` only what stays. */
  readonly commitment: 'confirmed' | 'finalized';
  /** Stops before this transaction; absent: reads to the account's beginning. */
  readonly until?: string;
  /** The slot of `until`: older transactions are left out when a provider does not keep `until` any more. */
  readonly untilSlot?: number;
  /** A provider that has not reached this slot must not answer. */
  readonly minSlot?: number;
}

/** The effect of one transaction on one token account. */
export interface AccountEffect {
  /** Token base units; negative if money left. */
  readonly unitsDelta: bigint;
  /**
   * Null unless money arrived. `fromAddress` is null unless exactly one owner paid; `logIndex` is the account's index
   * in the transaction.
   */
  readonly transfer: Transfer | null;
}

/**
 * Reads a chain whose balances are in accounts and whose blocks are too many to read all of them. Errors are thrown as
 * `ChainUnavailable` (retry later) or `WrongChain` (refuse to run).
 */
export interface AccountChain {
  readonly network: Network;
  readonly mode: Mode;
  readonly settings: NetworkSettings;
  /** Checks the genesis hash and the tokens. Throws `WrongChain` if they differ from the settings. */
  verify(): Promise<void>;
  /** The accounts in which the owner receives the configured tokens. */
  tokenAccountsOf(owner: string): readonly TokenAccount[];
  /** Confirmed balances of any number of accounts; with none it still returns slot and time. */
  balances(accounts: readonly TokenAccount[]): Promise<BalanceLook>;
  /** Newest first. Throws `ChainUnavailable` rather than omit something. */
  history(account: string, options: HistoryOptions): Promise<readonly HistoryEntry[]>;
  /** Null if no provider has the transaction yet: ask again, never drop it. */
  effectOf(txHash: string, account: TokenAccount): Promise<AccountEffect | null>;
  /** What the owner holds of the configured tokens in other final accounts than these. */
  otherHoldings?(owner: string): Promise<readonly (TokenAccount & { readonly units: bigint })[]>;
  /** Newest finalised block. */
  finalized(): Promise<Block>;
  /** Null for a slot without a block and above the head. */
  blockAt(slot: number): Promise<Block | null>;
  /** The transfer in the current chain, read anew; null if it is not found, which proves nothing. */
  transferAt(txHash: string, logIndex: number): Promise<Transfer | null>;
  /** As in `Chain`. */
  agreeOnFinality(transfer: Transfer, rule: FinalityRule): Promise<boolean>;
  /**
   * Why the chain cannot contain a recorded transfer, proven by the chain itself; null without such proof. As in
   * `Chain`.
   */
  disprove(deposit: DepositFacts): Promise<Disproof | null>;
  close(): Promise<void>;
}
