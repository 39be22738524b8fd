import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { mustHaveBlock, newestBlock, transactionsOf } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

/** Blocks read concurrently, below TronGrid's 15 requests a second. */
const AT_A_TIME = 4;

/**
 * Whether a solidified block from the transaction's lifetime lists it. Block lists are conclusive, a missing receipt is
 * not. Throws `ProviderFault` if the provider's solidified blocks have not passed that time.
 */
export async function isListedBetween(
  provider: RpcProvider,
  txHash: string,
  fromMs: number,
  toMs: number,
): Promise<boolean> {
  const solid = await newestBlock(provider, 'walletsolidity');
  if (solid.timeSec * 1000 < toMs)
    throw new ProviderFault('behind', 'has not solidified the time in which a transaction might land');
  let next = await firstAtOrAfter(provider, Math.floor(fromMs / 1000), solid.number);
  for (let isOver = false; !isOver && next <= solid.number; next += AT_A_TIME) {
    const numbers = Array.from({ length: Math.min(AT_A_TIME, solid.number - next + 1) }, (_, offset) => next + offset);
    const blocks = await Promise.all(
      numbers.map(async (number) => {
        const block = await mustHaveBlock(provider, number);
        return { block, listed: await transactionsOf(provider, block) };
      }),
    );
    if (blocks.some(({ listed }) => listed.some(({ txID }) => txID === txHash))) return true;
    isOver = must(blocks.at(-1)).block.timeSec * 1000 > toMs;
  }
  return false;
}

/** The oldest block at or after the time. */
async function firstAtOrAfter(provider: RpcProvider, timeSec: number, newest: number): Promise<number> {
  let [low, high] = [0, newest];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await mustHaveBlock(provider, middle)).timeSec < timeSec) low = middle + 1;
    else high = middle;
  }
  return low;
}
