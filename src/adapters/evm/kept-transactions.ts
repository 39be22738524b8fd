import { RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { isNotKnown, mustReadHeader, readBlockReceipts, readReceipt, readTransactions } from './rpc.ts';

/** Blocks without a transaction, one after the other, until it is given up to look for one. */
const EMPTY_BLOCKS = 8;

export interface KeptTransactions {
  /** How far back the provider knows transactions by their hashes, in seconds; null if it knows all. */
  readonly byHashSec: number | null;
  /** Whether it serves the receipts of an older block, by which the deposits in it are found. */
  readonly servesOlderBlocks: boolean;
}

/** By halving: nodes keep an index of the newest blocks alone (geth: 2,350,000), and some drop old blocks too. */
export async function keptTransactions(provider: RpcProvider): Promise<KeptTransactions> {
  const { block: newest } = await mustReadHeader(provider, 'latest');
  if (await knowsHashAt(provider, 0, newest.number)) return { byHashSec: null, servesOlderBlocks: true };
  let [unknown, known] = [0, newest.number];
  while (known - unknown > 1) {
    const middle = (unknown + known) >> 1;
    if (await knowsHashAt(provider, middle, known)) known = middle;
    else unknown = middle;
  }
  const { block } = await mustReadHeader(provider, known);
  const servesOlderBlocks = await readBlockReceipts(provider, unknown).then(
    () => true,
    () => false,
  );
  return { byHashSec: newest.timeSec - block.timeSec, servesOlderBlocks };
}

/** By the next transaction from the block on; a stretch without any counts as known. */
async function knowsHashAt(provider: RpcProvider, from: number, below: number): Promise<boolean> {
  try {
    for (let number = from; number < Math.min(below, from + EMPTY_BLOCKS); number += 1) {
      const [first] = await readTransactions(provider, number);
      if (first) return (await readReceipt(provider, first.hash)) !== null;
    }
    return true;
  } catch (error) {
    if (error instanceof RpcError && (isNotKnown(error) || error.means === 'cannot')) return false;
    throw error;
  }
}
