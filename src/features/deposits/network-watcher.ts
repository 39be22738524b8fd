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
