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

export interface ScanResult {
  /** Transfers of allow-listed tokens to addresses that `isOurs` accepts, in chain order. */
  readonly transfers: readonly Transfer[];
  /** The scanned blocks whose headers were read, oldest first; the last one is the end of the range. */
  readonly lastBlock: Block;
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
  scan(fromBlock: number, toBlock: number, isOurs: (address: string) => boolean): Promise<ScanResult>;
  /** The transfer as the current chain has it, read anew; null when it is not there or without effect. */
  transferAt(txHash: string, logIndex: number): Promise<Transfer | null>;
  close(): Promise<void>;
}

export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

export class WrongChain extends Error {
  override readonly name = 'WrongChain';
}
