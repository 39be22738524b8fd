import { z } from 'zod';
import type { BlockRange } from '../../domain/events/treasury-move-events.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import type { TronListedTransaction } from './receipt.ts';
import { ask, listedIn, tronBlock } from './rpc.ts';

/** Blocks per response; those of the main network have about 150 kB each. */
const BLOCKS_A_CALL = 10;

export type On = <Value>(task: (provider: RpcProvider) => Promise<Value>) => Promise<Value>;

export interface ListedBlock {
  readonly number: number;
  readonly transactions: readonly TronListedTransaction[];
}

/** Blocks with the transactions that they list, in batches: nodes do not index transactions by address. */
export async function* listedBlocks(
  on: On,
  { fromBlock, toBlock }: BlockRange,
): AsyncGenerator<readonly ListedBlock[]> {
  for (let first = fromBlock; first <= toBlock; first += BLOCKS_A_CALL)
    yield await on((provider) => readBlocks(provider, first, Math.min(toBlock, first + BLOCKS_A_CALL - 1)));
}

const blockList = z.object({ block: z.array(tronBlock) });

/** Both blocks are inclusive. */
async function readBlocks(provider: RpcProvider, first: number, last: number): Promise<ListedBlock[]> {
  const range = { startNum: first, endNum: last + 1 };
  const { block: blocks } = await ask(provider, blockList, 'wallet', 'getblockbylimitnext', range);
  const numbers = blocks.map((block) => block.block_header.raw_data.number);
  if (numbers.length !== last - first + 1 || numbers.some((number, index) => number !== first + index))
    throw new ProviderFault('behind', `does not have the blocks ${first} to ${last}`);
  const listed = blocks.map((block, index) => ({ number: first + index, transactions: listedIn(block) }));
  // Without its contract nobody knows who sent a transaction, and without its result whether it moved anything. What
  // the first block gives out has none.
  const isWhole = ({ raw_data: raw, ret }: TronListedTransaction): boolean =>
    Boolean(raw?.contract?.[0]?.parameter?.value && ret?.[0]?.contractRet);
  if (!listed.every(({ number, transactions }) => number === 0 || transactions.every(isWhole)))
    throw new ProviderFault('inconsistent', `left out what is in transactions of the blocks ${first} to ${last}`);
  return listed;
}
