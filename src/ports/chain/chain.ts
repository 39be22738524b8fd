import type { DepositFacts, DepositReverted, FinalityRule } from '../../domain/events/session-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network, NetworkSettings } from '../../domain/networks/networks.ts';
import type { UnknownPayer } from '../../domain/networks/unknown-payer.ts';

export interface Block {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeSec: number;
}

/** A token transfer according to the chain's own records (logs or balance deltas), never according to calldata. */
export interface Transfer {
  readonly tokenAddress: string;
  /** Token base units. */
  readonly tokenUnits: bigint;
  /** The owner whose balance fell; null unless there is exactly one. */
  readonly fromAddress: string | null;
  /** Why that is null; absent where the network knows one reason only. */
  readonly unknownPayer?: UnknownPayer;
  readonly toAddress: string;
  readonly txHash: string;
  /** Log or instruction index, which distinguishes several transfers of one transaction. */
  readonly logIndex: number;
  readonly block: Block;
}

/** Why the chain cannot contain a recorded transfer. */
export type Disproof = DepositReverted['data']['reason'];

/** Whether we ever assigned the address. */
export interface IsOurs {
  (address: string): boolean;
  /**
   * Checks many at once, several times as fast as one by one: returns the positions of those that may be ours, with
   * some false positives. Only for hex, as bare addresses or padded to 32 bytes: it uses the last 16 digits.
   */
  readonly sift?: (hexTexts: readonly string[]) => readonly number[];
}

/** Shared by concurrent queries about transfers of one block, so that the block can be read once for all of them. */
export interface BlockLook {
  readonly blockNumber: number;
}

export interface ScanOptions {
  /**
   * Providers of the first reading, if a second opinion is wanted: another one is asked, or one of these with another
   * method, which reads the blocks themselves.
   */
  readonly readBefore?: readonly string[];
  /** Nobody is expected to pay: the reader may sample headers where it otherwise compares each. */
  readonly isIdle?: boolean;
  /** The head, if it was read this moment: its header is not read again where the range ends with it. */
  readonly head?: Block;
}

export interface ScanResult {
  /** Transfers of allow-listed tokens to addresses that `isOurs` accepts, in chain order. */
  readonly transfers: readonly Transfer[];
  /** The end of the range that was read. */
  readonly lastBlock: Block;
  /**
   * Scanned blocks whose headers were read, oldest first, including `lastBlock`; they allow a reorganisation to be
   * located exactly.
   */
  readonly headers?: readonly Block[];
  /** The providers that answered. */
  readonly providers: readonly string[];
}

/**
 * Reads one block-based chain. Errors are thrown as `ChainUnavailable` (retry later) or `WrongChain` (read nothing).
 * An adapter makes no decisions about money.
 */
export interface Chain {
  readonly network: Network;
  readonly mode: Mode;
  readonly settings: NetworkSettings;
  /** Checks chain id and token decimals. Throws `WrongChain` if they differ from the settings. */
  verify(): Promise<void>;
  head(): Promise<Block>;
  /** The highest block that the chain itself calls final; null while no provider knows one. */
  finalized(): Promise<Block | null>;
  /** The block at a height of the current chain; null above the head. */
  blockAt(number: number): Promise<Block | null>;
  /** Both blocks are inclusive. May read less than requested: `lastBlock` is the actual end. */
  scan(fromBlock: number, toBlock: number, isOurs: IsOurs, options?: ScanOptions): Promise<ScanResult>;
  /**
   * The transfer in the current chain, read anew; null if it is not found, which proves nothing. Throws
   * `ChainUnavailable` when the providers contradict each other. `look`: the block it was seen in, if other transfers
   * of it are queried too.
   */
  transferAt(txHash: string, logIndex: number, look?: BlockLook): Promise<Transfer | null>;
  /**
   * Whether a second provider also considers the transfer's block final by the rule, if the amount needs a second
   * source; true otherwise.
   */
  agreeOnFinality(transfer: Transfer, rule: FinalityRule): Promise<boolean>;
  /**
   * Why the chain cannot contain a recorded transfer, proven by the chain itself: another block at its height, or its
   * own block without it. Null without such proof, however often the transfer is not found. Requires two providers if
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
