import type { Block } from '../../../ports/chain/chain.ts';
import type { WatchChainDeps } from './types.ts';

/**
 * The newest block below `number` that both the evidence in the event log and the chain have, for a reorganisation
 * deeper than the hashes in memory. Without such evidence: `deepBlocks` below. Null if the chain lacks that block too.
 */
export async function commonBlockBelow(
  { chain, coverage }: Pick<WatchChainDeps, 'chain' | 'coverage'>,
  number: number,
  deepBlocks: number,
): Promise<Block | null> {
  for (let seen = await coverage.coveredBelow(number); seen !== null; seen = await coverage.coveredBelow(seen.block)) {
    const block = await chain.blockAt(seen.block);
    if (block?.hash === seen.hash) return block;
  }
  return chain.blockAt(Math.max(0, number - deepBlocks));
}
