import type { Mode } from '../domain/ids.ts';
import type { Network } from '../domain/networks.ts';

/** How far a chain was read, as its one watcher last said. */
export interface ChainReport {
  readonly headBlock: number | null;
  readonly scannedBlock: number | null;
  /** Every transfer in a block with an earlier time is in the ledger. */
  readonly scannedToSec: number | null;
  readonly finalizedBlock: number | null;
  readonly coveredBlock: number | null;
  readonly trackedDeposits: number;
  readonly consecutiveFailures: number;
}

/**
 * Where the watcher of a chain tells the other processes how far it is. Losing it delays expiry and confirmations shown, and nothing else:
 * what was read is in the ledger before it is told here.
 */
export interface ChainStatusStore {
  /** Never waits and never throws. A report with a lower fencing token than the last one is ignored. */
  publish(mode: Mode, network: Network, token: number, report: ChainReport): void;
  /** The newest report, a moment old at most; null when there is none. */
  read(mode: Mode, network: Network): ChainReport | null;
  close(): Promise<void>;
}
