import type { Block, ScanResult } from '../../../ports/chain/chain.ts';
import type { TrackedDeposits } from './deposits.ts';
import { depositKeyOf } from './facts.ts';
import type { KnownBlocks } from './known-blocks.ts';
import type { WatchChainDeps } from './types.ts';

/** Holds what a provider answered for a range against what is known of the chain. */
export class ReadingChecks {
  readonly #deps: Pick<WatchChainDeps, 'chain' | 'observer'>;
  readonly #known: KnownBlocks;
  readonly #deposits: TrackedDeposits;

  constructor(deps: Pick<WatchChainDeps, 'chain' | 'observer'>, known: KnownBlocks, deposits: TrackedDeposits) {
    this.#deps = deps;
    this.#known = known;
    this.#deposits = deposits;
  }

  /** Whether the range continues the blocks read before it. */
  async follows(previous: Block, result: ScanResult): Promise<boolean> {
    const first = result.headers?.[0] ?? result.lastBlock;
    if (first.number === previous.number + 1) return first.parentHash === previous.hash;
    return (await this.#deps.chain.blockAt(previous.number))?.hash === previous.hash;
  }

  /**
   * Final blocks cannot differ from those seen before, so one of two providers is on another chain. Time or the fork
   * check tells which.
   */
  isSameChain({ lastBlock, providers }: ScanResult): boolean {
    const seen = this.#known.hashAt(lastBlock.number);
    if (seen === null || seen === lastBlock.hash) return true;
    this.#deps.observer?.onAnomaly?.({ kind: 'other-chain', blockNumber: lastBlock.number, providers });
    return false;
  }

  /**
   * A transfer known to be in the range must be in the response. If it is missing, the chain decides which of the two
   * is wrong.
   */
  async isComplete(from: number, result: ScanResult): Promise<boolean> {
    const { chain, observer } = this.#deps;
    const keys = new Set(result.transfers.map(({ txHash, logIndex }) => depositKeyOf(chain.network, txHash, logIndex)));
    let complete = true;
    for (const { depositKey, txHash, logIndex, blockHash } of this.#deposits.missingIn(
      from,
      result.lastBlock.number,
      keys,
    )) {
      if ((await chain.transferAt(txHash, logIndex))?.block.hash !== blockHash) {
        this.#deposits.suspect(depositKey);
        continue;
      }
      observer?.onAnomaly?.({ kind: 'incomplete-range', depositKey, providers: result.providers });
      complete = false;
    }
    return complete;
  }
}
