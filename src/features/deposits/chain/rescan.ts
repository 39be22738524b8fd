import type { RangeScanned } from '../../../domain/events/operations-events.ts';
import { ChainUnavailable, type ScanResult, type Transfer } from '../../../ports/chain/chain.ts';
import type { RescanResult } from './types.ts';

export interface RescanParts {
  /** May read less than requested. */
  readonly scan: (fromBlock: number, toBlock: number, readBefore?: readonly string[]) => Promise<ScanResult>;
  /** Resolves once every transfer is accepted by its session, or parked. */
  readonly observe: (transfers: readonly Transfer[]) => Promise<unknown>;
  /** The oldest block with a transfer that no session accepted. */
  readonly oldestParked: () => number;
  /** Whether final blocks contain every transfer known to be in them. */
  readonly isSound: (fromBlock: number, result: ScanResult) => Promise<boolean>;
  /** The durable cursor. The watcher records the blocks above it later. */
  readonly coveredBlock: number;
  readonly maxScanBlocks: number;
  readonly record: (range: Omit<RangeScanned['data'], 'mode' | 'network'>) => Promise<void>;
}

/**
 * Reads a range of blocks again, both inclusive. Final blocks are read twice, as usual, and recorded as read if both
 * readings agree. Their transfers are observed in either case.
 */
export async function rescan(parts: RescanParts, fromBlock: number, toBlock: number): Promise<RescanResult> {
  const providers = new Set<string>();
  let transfers = 0;
  let recordedTo = fromBlock - 1;
  for (let from = fromBlock; from <= toBlock;) {
    // Reads blocks above the cursor separately, so that they do not prevent recording the ones before.
    const end = from <= parts.coveredBlock ? Math.min(toBlock, parts.coveredBlock) : toBlock;
    const result = await parts.scan(from, Math.min(end, from + parts.maxScanBlocks - 1));
    await parts.observe(result.transfers);
    transfers += result.transfers.length;
    const again = result.lastBlock.number <= parts.coveredBlock ? await readTwice(parts, from, result) : null;
    for (const provider of [...result.providers, ...(again?.providers ?? [])]) providers.add(provider);
    if (again && recordedTo === from - 1) recordedTo = again.lastBlock.number;
    // The second reading may cover fewer blocks than the first.
    from = (again ?? result).lastBlock.number + 1;
  }
  return {
    fromBlock,
    toBlock,
    transfers,
    providers: [...providers],
    recordedTo: recordedTo < fromBlock ? null : recordedTo,
  };
}

/** Null if the range cannot be recorded as read. */
async function readTwice(parts: RescanParts, fromBlock: number, first: ScanResult): Promise<ScanResult | null> {
  const second = await parts.scan(fromBlock, first.lastBlock.number, first.providers).catch((error: unknown) => {
    if (error instanceof ChainUnavailable) return null;
    throw error;
  });
  if (second === null) return null;
  const toBlock = second.lastBlock.number;
  if (toBlock === first.lastBlock.number && second.lastBlock.hash !== first.lastBlock.hash) return null;
  await parts.observe(second.transfers);
  if (!(await parts.isSound(fromBlock, second)) || parts.oldestParked() <= toBlock) return null;
  await parts.record({
    fromBlock,
    toBlock,
    toBlockHash: second.lastBlock.hash,
    toBlockTimeSec: second.lastBlock.timeSec,
    providers: [...new Set([...first.providers, ...second.providers])],
    transfersSeen: second.transfers.length,
  });
  return second;
}
