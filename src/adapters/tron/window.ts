import type { Block } from '../../ports/chain/chain.ts';
import type { RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { isListedFrom } from '../../chain-formats/tron-lifetime.ts';
import { mustHaveBlock, transactionsOf } from './rpc.ts';

/** Whether a block of the provider up to its newest solidified one, from the transaction's lifetime, lists it. */
export async function isListedBetween(
  provider: RpcProvider,
  newest: Block,
  txHash: string,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<boolean> {
  const fromBlock = await firstAtOrAfter(provider, Math.floor(fromMs / 1000), newest.number);
  const listed = async (number: number) => {
    const block = await mustHaveBlock(provider, number);
    const transactions = await transactionsOf(provider, block);
    return { timeSec: block.timeSec, txHashes: transactions.flatMap(({ txID }) => txID ?? []) };
  };
  return isListedFrom({ newest, listed }, txHash, { fromBlock, toMs });
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
