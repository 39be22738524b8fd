import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { RescanResult, WatchStatus } from './chain/types.ts';

/** A watcher as the rest of the service sees it, independent of how its chain is read. */
export interface NetworkWatcher {
  start(): Promise<void>;
  stop(): Promise<void>;
  scannedToSec(): number | null;
  onScanned(listener: (scannedToSec: number) => void): () => void;
  status(): WatchStatus;
  /** Reads a range of blocks again, both inclusive. Only for chains read by blocks. */
  rescan?(fromBlock: number, toBlock: number): Promise<RescanResult>;
  /** Reads the whole history of one of our addresses again. Only for chains read by accounts. */
  recheck?(address: string): Promise<{ readonly transfers: number }>;
}

/** A network of one mode with its watcher in this process. */
export interface WatchedNetwork {
  readonly settings: NetworkSettings;
  readonly watcher: NetworkWatcher;
}

/** How far chain time may lag while reading fails. Payers on the network are then waiting in vain. */
const FAILING_LAG_SEC = 30;
/** The same while reading succeeds and the chain produces no blocks. All supported chains produce blocks more often. */
const STANDING_LAG_SEC = 120;
const FAILURES = 2;

/**
 * Since when a network has been unreadable or stalled (Unix seconds); null if healthy, and before the first look at it.
 * `startedSec`: when this process started, as it may not have read anything since.
 */
export function outageSince(status: WatchStatus | undefined, nowSec: number, startedSec: number): number | null {
  if (!status) return null;
  if (status.scannedToSec === null) return status.consecutiveFailures > FAILURES ? startedSec : null;
  const lagSec = nowSec - status.scannedToSec;
  const fails = status.consecutiveFailures > FAILURES && lagSec > FAILING_LAG_SEC;
  return fails || lagSec > STANDING_LAG_SEC ? status.scannedToSec : null;
}
