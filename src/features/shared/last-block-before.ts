import { ChainUnavailable, type Block, type Chain } from '../../ports/chain/chain.ts';

/** The newest final block at or before the time, or the chain's first block. */
export async function lastBlockBefore(
  chain: Pick<Chain, 'network' | 'finalized' | 'blockAt'>,
  timeSec: number,
): Promise<Block> {
  const newest = await chain.finalized();
  if (newest === null) throw new ChainUnavailable(`${chain.network}: no block is called final yet`);
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

async function mustHave(chain: Pick<Chain, 'network' | 'blockAt'>, number: number): Promise<Block> {
  const block = await chain.blockAt(number);
  if (block === null) throw new ChainUnavailable(`${chain.network}: the node does not have block ${number}`);
  return block;
}
