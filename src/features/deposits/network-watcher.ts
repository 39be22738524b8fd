import type { NetworkSettings } from '../../domain/networks.ts';
import type { RescanResult, WatchStatus } from './chain/types.ts';

/** What the rest of the service sees of a watcher, however its chain is read. */
export interface NetworkWatcher {
  start(): Promise<void>;
  stop(): Promise<void>;
  scannedToSec(): number | null;
  onScanned(listener: (scannedToSec: number) => void): () => void;
  status(): WatchStatus;
  /** Reads a range of blocks again, both ends included; absent where a chain is not read by blocks. */
  rescan?(fromBlock: number, toBlock: number): Promise<RescanResult>;
  /** Reads the whole history of one of our addresses again; present where a chain is read by accounts. */
  recheck?(address: string): Promise<{ readonly transfers: number }>;
}

/** A network of one mode and who watches it in this process. */
export interface WatchedNetwork {
  readonly settings: NetworkSettings;
  readonly watcher: NetworkWatcher;
}

/**
 * Chain time that is not read for so long while reading fails: whoever pays there waits for an answer that does not
 * come.
 */
const FAILING_LAG_SEC = 30;
/** The same where reading succeeds and the chain stands still; no chain that is offered makes blocks less often. */
const STANDING_LAG_SEC = 120;
const FAILURES = 2;

/**
 * Since when a network could not be read, or stands still (Unix seconds); null in health, and before anything was read.
 */
export function outageSince(status: WatchStatus | undefined, nowSec: number): number | null {
  if (!status || status.scannedToSec === null) return null;
  const lagSec = nowSec - status.scannedToSec;
  const fails = status.consecutiveFailures > FAILURES && lagSec > FAILING_LAG_SEC;
  return fails || lagSec > STANDING_LAG_SEC ? status.scannedToSec : null;
}
