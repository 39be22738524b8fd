import type { Block, ScanResult } from '../../../ports/chain/chain.ts';
import type { WatchChainDeps } from './types.ts';

interface OpenRange {
  readonly fromBlock: number;
  to: Block;
  readonly providers: Set<string>;
  transfersSeen: number;
}

/** Combines what was read into few `RangeScanned` events. */
export class CoverageLog {
  readonly #deps: WatchChainDeps;
  readonly #intervalMs: () => number;
  #open: OpenRange | null = null;
  #writtenAtMs = -Infinity;

  constructor(deps: WatchChainDeps, intervalMs: () => number) {
    this.#deps = deps;
    this.#intervalMs = intervalMs;
  }

  /** Extends the open range and writes it when the last event is old enough. */
  async add(
    fromBlock: number,
    result: Pick<ScanResult, 'lastBlock' | 'providers'>,
    transfersSeen: number,
  ): Promise<void> {
    this.#open ??= { fromBlock, to: result.lastBlock, providers: new Set(), transfersSeen: 0 };
    this.#open.to = result.lastBlock;
    this.#open.transfersSeen += transfersSeen;
    for (const provider of result.providers) this.#open.providers.add(provider);
    if (performance.now() - this.#writtenAtMs >= this.#intervalMs()) await this.write();
  }

  /** Whether the range that is not written yet holds money of ours. */
  get holdsTransfers(): boolean {
    return (this.#open?.transfersSeen ?? 0) > 0;
  }

  async write(): Promise<void> {
    const range = this.#open;
    if (!range) return;
    const { network, mode } = this.#deps.chain;
    await this.#deps.coverage.record({
      mode,
      network,
      fromBlock: range.fromBlock,
      toBlock: range.to.number,
      toBlockHash: range.to.hash,
      toBlockTimeSec: range.to.timeSec,
      providers: [...range.providers],
      transfersSeen: range.transfersSeen,
    });
    this.#open = null;
    this.#writtenAtMs = performance.now();
  }

  /** Blocks above left the chain and must be read again before they count. */
  truncate(last: Block): void {
    if (!this.#open || this.#open.to.number <= last.number) return;
    if (this.#open.fromBlock > last.number) this.#open = null;
    else this.#open.to = last;
  }
}
