import { ChainUnavailable } from '../ports/chain.ts';
import type { Block, Chain } from '../ports/chain.ts';
import type { WatchChainDeps } from './watch-chain-types.ts';

export interface StartPoint {
  /** Everything up to here was read; the next block is the first to read. */
  readonly block: Block;
  /** `fresh`: no coverage yet. `replaced`: the durable cursor's block is not in this chain. */
  readonly kind: 'fresh' | 'continued' | 'replaced';
}

/** Allows for a chain clock that runs ahead of ours. */
const CLOCK_MARGIN_SEC = 60;

/**
 * Where reading begins: at the durable cursor, or on a first start before the oldest session and the start of this process
 * (`nowSec`), whichever is earlier, so that no session exists whose time was not read. A durable cursor that this chain does not know
 * means a reorganisation beyond finality or, in the sandbox, a node that came back a little behind: reading then begins
 * `deepBlocks` below.
 */
export async function findStart(
  deps: WatchChainDeps,
  options: { readonly sandbox: boolean; readonly deepBlocks: number; readonly nowSec: number },
): Promise<StartPoint> {
  const { chain } = deps;
  const covered = await deps.coverage.lastCovered();
  if (covered === null) {
    const { nowSec } = options;
    return { kind: 'fresh', block: await lastBlockBefore(chain, Math.min(deps.oldestSessionSec?.() ?? nowSec, nowSec) - CLOCK_MARGIN_SEC) };
  }
  const block = await chain.blockAt(covered.block);
  if (block?.hash === covered.hash) return { kind: 'continued', block };
  // A node that still synchronises is no proof of anything; only the sandbox rewinds its chains.
  if (block === null && !options.sandbox)
    throw new ChainUnavailable(`${chain.network}: the node does not have block ${covered.block} yet, which was read before`);
  const head = await chain.head();
  return { kind: 'replaced', block: await mustHave(chain, Math.max(0, Math.min(covered.block, head.number) - options.deepBlocks)) };
}

/** The newest final block at or before the time, or the chain's first one. */
async function lastBlockBefore(chain: Chain, timeSec: number): Promise<Block> {
  const newest = await chain.finalized();
  if (newest.timeSec <= timeSec || newest.number === 0) return newest;
  let low = 0;
  let high = newest.number;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if ((await mustHave(chain, middle)).timeSec <= timeSec) low = middle;
    else high = middle;
  }
  return mustHave(chain, low);
}

async function mustHave(chain: Chain, number: number): Promise<Block> {
  const block = await chain.blockAt(number);
  if (block === null) throw new ChainUnavailable(`${chain.network}: the node does not have block ${number}`);
  return block;
}
