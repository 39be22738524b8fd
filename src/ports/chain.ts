import type { DepositFacts, DepositReverted, FinalityRule } from '../domain/events/session-events.ts';
import type { Mode } from '../domain/ids.ts';
import type { Network, NetworkSettings } from '../domain/networks.ts';

export interface Block {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeSec: number;
}

/** A token transfer as the chain itself records it (logs or balance deltas), never as calldata claims. */
export interface Transfer {
  readonly tokenAddress: string;
  /** Token base units. */
  readonly tokenUnits: bigint;
  /** The owner whose balance fell; null when that is not exactly one. */
  readonly fromAddress: string | null;
  readonly toAddress: string;
  readonly txHash: string;
  /** Log or instruction index: tells several transfers of one transaction apart. */
  readonly logIndex: number;
  readonly block: Block;
}

/** Why the chain cannot hold a transfer that was recorded. */
export type Disproof = DepositReverted['data']['reason'];

/** Whether an address was ever given out by us. */
export interface IsOurs {
  (address: string): boolean;
  /**
   * Sifts many at once, several times as fast as one by one: the positions of those that may be ours, some strangers
   * among them. Only for hex, as bare addresses or padded to 32 bytes: the last 16 digits are looked at.
   */
  readonly sift?: (hexTexts: readonly string[]) => readonly number[];
}

/**
 * Transfers of one block that are asked about at the same time, with the same object: the block may then be read once
 * for all of them.
 */
export interface BlockLook {
  readonly blockNumber: number;
}

export interface ScanOptions {
  /**
   * Providers that read the range before, where a second opinion is wanted: another one is asked, and one of these only
   * by another method, which asks the blocks themselves what they hold.
   */
  readonly readBefore?: readonly string[];
}

export interface ScanResult {
  /** Transfers of allow-listed tokens to addresses that `isOurs` accepts, in chain order. */
  readonly transfers: readonly Transfer[];
  /** The end of the range that was read. */
  readonly lastBlock: Block;
  /**
   * Scanned blocks whose headers were read, oldest first, `lastBlock` included; they let a reorganisation be located
   * exactly.
   */
  readonly headers?: readonly Block[];
  /** Which providers answered. */
  readonly providers: readonly string[];
}

/**
 * Reads one block-based chain. Errors are thrown as `ChainUnavailable` (retry later) or `WrongChain` (refuse to run);
 * an adapter decides nothing about money.
 */
export interface Chain {
  readonly network: Network;
  readonly mode: Mode;
  readonly settings: NetworkSettings;
  /** Checks chain id and token decimals. Throws `WrongChain` when they differ from the settings. */
  verify(): Promise<void>;
  head(): Promise<Block>;
  /** Highest block the chain itself calls final. */
  finalized(): Promise<Block>;
  /** The block at a height of the current chain; null above the head. */
  blockAt(number: number): Promise<Block | null>;
  /** Both ends included. May answer for a shorter range than asked: `lastBlock` says how far it came. */
  scan(fromBlock: number, toBlock: number, isOurs: IsOurs, options?: ScanOptions): Promise<ScanResult>;
  /**
   * The transfer as the current chain has it, read anew; null when it is not shown, which proves nothing. Throws
   * `ChainUnavailable` when the providers contradict each other about it. `look`: the block it was seen in, where
   * others of it are asked about, too.
   */
  transferAt(txHash: string, logIndex: number, look?: BlockLook): Promise<Transfer | null>;
  /**
   * Whether a second provider calls the transfer's block final by the rule, too, where the transfer is of an amount
   * that needs a second source; true for any other.
   */
  agreeOnFinality(transfer: Transfer, rule: FinalityRule): Promise<boolean>;
  /**
   * Why the chain cannot hold a recorded transfer, as the chain itself shows: another block at its height, or its very
   * block without it. Null while nothing shows that, however often the transfer is not found. Takes two providers where
   * there are two.
   */
  disprove(deposit: DepositFacts): Promise<Disproof | null>;
  close(): Promise<void>;
}

export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

export class WrongChain extends Error {
  override readonly name = 'WrongChain';
}
