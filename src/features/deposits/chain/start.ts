import { ChainUnavailable, type Block } from '../../../ports/chain/chain.ts';
import { lastBlockBefore } from '../../shared/last-block-before.ts';
import { commonBlockBelow } from './common-block.ts';
import type { WatchChainDeps } from './types.ts';

export interface StartPoint {
  /** Everything up to this block was read; reading continues with the next one. */
  readonly block: Block;
  /** `fresh`: no coverage yet. `replaced`: this chain does not contain the block of the durable cursor. */
  readonly kind: 'fresh' | 'continued' | 'replaced';
  /** How many of the blocks read are missing from this chain. */
  readonly depthBlocks: number;
}

/** Allows for a chain clock that runs ahead of ours. */
const CLOCK_MARGIN_SEC = 60;

/**
 * Where reading begins: at the durable cursor, or on a first start before the oldest session or the start of this
 * process (`nowSec`), whichever is earlier, so that every session's time is read. A durable cursor that this chain does
 * not know means a reorganisation beyond finality: reading then begins where the evidence in the event log and the
 * chain agree. In the sandbox it means a node that came back with an older state: reading begins `deepBlocks` below.
 */
export async function findStart(
  deps: WatchChainDeps,
  options: { readonly sandbox: boolean; readonly deepBlocks: number; readonly nowSec: number },
): Promise<StartPoint> {
  const { chain } = deps;
  const covered = await deps.coverage.lastCovered();
  if (covered === null) {
    const { nowSec } = options;
    return {
      kind: 'fresh',
      depthBlocks: 0,
      block: await lastBlockBefore(chain, Math.min(deps.oldestSessionSec?.() ?? nowSec, nowSec) - CLOCK_MARGIN_SEC),
    };
  }
  const block = await chain.blockAt(covered.block);
  if (block?.hash === covered.hash) return { kind: 'continued', depthBlocks: 0, block };
  // A node that is still syncing proves nothing. Only the sandbox rewinds its chains.
  if (block === null && !options.sandbox)
    throw new ChainUnavailable(
      `${chain.network}: the node does not yet have block ${covered.block}, which was read before`,
    );
  const head = await chain.head();
  const below = Math.min(covered.block, head.number);
  const common = options.sandbox
    ? await chain.blockAt(Math.max(0, below - options.deepBlocks))
    : await commonBlockBelow(deps, below, options.deepBlocks);
  if (common === null) throw new ChainUnavailable(`${chain.network}: the node does not have the blocks below ${below}`);
  return { kind: 'replaced', depthBlocks: covered.block - common.number, block: common };
}
