import type { DepositFacts, FinalityRule } from '../domain/events/session-events.ts';
import type { Mode } from '../domain/ids.ts';
import type { Network, NetworkSettings, Token } from '../domain/networks.ts';
import type { Block, Disproof, Transfer } from './chain.ts';

/** An account that holds one token for one owner; money sent to the owner lands here. */
export interface TokenAccount {
  readonly account: string;
  readonly owner: string;
  readonly token: Token;
}

/** Balances as one look found them. */
export interface BalanceLook {
  /** Token base units in the order asked; 0 where the account does not exist or is not what it should be. */
  readonly units: readonly bigint[];
  /** Everything up to this slot is in the balances; the oldest one where the look took several calls. */
  readonly slot: number;
  /** Chain time of that slot. */
  readonly timeSec: number;
  readonly providers: readonly string[];
}

/** One transaction that touched an account. */
export interface HistoryEntry {
  readonly txHash: string;
  readonly slot: number;
  /** True when it is in the chain without effect. */
  readonly failed: boolean;
}

export interface HistoryOptions {
  /** `confirmed` shows what may still vanish, `finalized` what stays. */
  readonly commitment: 'confirmed' | 'finalized';
  /** Stops before this transaction; absent: reads to the account's beginning. */
  readonly until?: string;
  /** A provider that has not come this far must not answer. */
  readonly minSlot?: number;
}

/** What one transaction did to one token account. */
export interface AccountEffect {
  /** Token base units; negative when money left. */
  readonly unitsDelta: bigint;
  /**
   * Null unless money arrived. `fromAddress` is null when not exactly one owner paid; `logIndex` is the account's place
   * in the transaction.
   */
  readonly transfer: Transfer | null;
}

/**
 * Reads a chain whose balances live in accounts and whose blocks are too many to read them all. Errors are thrown as
 * `ChainUnavailable` (retry later) or `WrongChain` (refuse to run).
 */
export interface AccountChain {
  readonly network: Network;
  readonly mode: Mode;
  readonly settings: NetworkSettings;
  /** Checks the genesis hash and the tokens. Throws `WrongChain` when they differ from the settings. */
  verify(): Promise<void>;
  /** The accounts in which the owner receives the tokens of the settings. */
  tokenAccountsOf(owner: string): readonly TokenAccount[];
  /** Confirmed balances of any number of accounts; with none it still tells slot and time. */
  balances(accounts: readonly TokenAccount[]): Promise<BalanceLook>;
  /** Newest first. Throws `ChainUnavailable` rather than leave something out. */
  history(account: string, options: HistoryOptions): Promise<readonly HistoryEntry[]>;
  /** Null when no provider shows the transaction yet: ask again, never drop it. */
  effectOf(txHash: string, account: TokenAccount): Promise<AccountEffect | null>;
  /** Newest finalized block. */
  finalized(): Promise<Block>;
  /** Null for a slot without a block and above the head. */
  blockAt(slot: number): Promise<Block | null>;
  /** The transfer as the current chain has it, read anew; null when it is not shown, which proves nothing. */
  transferAt(txHash: string, logIndex: number): Promise<Transfer | null>;
  /** As in `Chain`. */
  agreeOnFinality(transfer: Transfer, rule: FinalityRule): Promise<boolean>;
  /**
   * Why the chain cannot hold a recorded transfer, as the chain itself shows; null while nothing shows it. As in
   * `Chain`.
   */
  disprove(deposit: DepositFacts): Promise<Disproof | null>;
  close(): Promise<void>;
}
