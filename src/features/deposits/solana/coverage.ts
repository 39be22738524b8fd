import type { SweepMarks } from '../../../domain/events/operations-events.ts';
import type { Block } from '../../../ports/chain/chain.ts';
import type { WatchSolanaDeps } from './types.ts';

/**
 * Records, in few `RangeScanned` events, that every watched account of an open session was read up to a finalised
 * block.
 */
export class SolanaCoverage {
  readonly #deps: Pick<WatchSolanaDeps, 'chain' | 'coverage'>;
  readonly #intervalMs: () => number;
  readonly #nowMs: () => number;
  readonly #providers = new Set<string>();
  #transfersSeen = 0;
  #coveredBlock: number | null = null;
  #writtenAtMs = -Infinity;

  constructor(deps: Pick<WatchSolanaDeps, 'chain' | 'coverage'>, intervalMs: () => number, nowMs: () => number) {
    this.#deps = deps;
    this.#nowMs = nowMs;
    this.#intervalMs = intervalMs;
  }

  /** End of the newest range; null before the first. */
  get coveredBlock(): number | null {
    return this.#coveredBlock;
  }

  get isDue(): boolean {
    return this.#nowMs() - this.#writtenAtMs >= this.#intervalMs();
  }

  /** Whether the range that is not written yet holds money of ours. */
  get holdsTransfers(): boolean {
    return this.#transfersSeen > 0;
  }

  /** Continues where an earlier run ended. Returns how far its sweeps had come. */
  async restore(): Promise<SweepMarks | null> {
    const last = await this.#deps.coverage.lastCovered();
    this.#coveredBlock = last?.block ?? null;
    return last?.sweeps ?? null;
  }

  saw(providers: readonly string[]): void {
    for (const provider of providers) this.#providers.add(provider);
  }

  found(transfers: number): void {
    this.#transfersSeen += transfers;
  }

  /** `readSlot`: the accounts of open sessions were read at this slot or later. */
  async write(finalized: Block, readSlot: number, sweeps: SweepMarks): Promise<void> {
    const from = this.#coveredBlock === null ? finalized.number : this.#coveredBlock + 1;
    if (finalized.number > readSlot || finalized.number < from) return;
    const { network, mode } = this.#deps.chain;
    await this.#deps.coverage.record({
      mode,
      network,
      fromBlock: from,
      toBlock: finalized.number,
      toBlockHash: finalized.hash,
      toBlockTimeSec: finalized.timeSec,
      providers: [...this.#providers],
      transfersSeen: this.#transfersSeen,
      sweeps,
    });
    this.#coveredBlock = finalized.number;
    this.#writtenAtMs = this.#nowMs();
    this.#transfersSeen = 0;
    this.#providers.clear();
  }
}
