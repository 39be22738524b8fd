import type { BlockRange } from '../../domain/events/treasury-move-events.ts';
import { RpcError, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { toQuantity, wideQuantity } from './rpc.ts';

/** Maximum number of balance requests. */
const MOST_BALANCES = 2_000;

/**
 * The blocks after which an address's native balance differs, found by bisection. Falls back to all blocks of the range
 * when the provider lacks old states, or when bisection would take more calls than there are blocks. Does not find
 * money that came and went between two equal balances.
 */
export async function blocksOfChange(
  provider: RpcProvider,
  address: string,
  { fromBlock, toBlock }: BlockRange,
): Promise<number[]> {
  let left = Math.min(MOST_BALANCES, toBlock - fromBlock + 1);
  const balanceAfter = async (block: number): Promise<bigint | null> => {
    if (left === 0) return null;
    left -= 1;
    const answer = await provider.call('eth_getBalance', [address, toQuantity(block)]).catch((error: unknown) => {
      if (error instanceof RpcError) return null;
      throw error;
    });
    return answer === null ? null : wideQuantity(answer, 'balance');
  };
  /** The changes after the first block up to the last; null if unknown. */
  const between = async (first: number, before: bigint, last: number, after: bigint): Promise<number[] | null> => {
    if (before === after) return [];
    if (last - first === 1) return [last];
    const middle = (first + last) >> 1;
    const held = await balanceAfter(middle);
    if (held === null) return null;
    const earlier = await between(first, before, middle, held);
    const later = earlier && (await between(middle, held, last, after));
    return earlier && later && [...earlier, ...later];
  };
  const [before, after] = [await balanceAfter(Math.max(0, fromBlock - 1)), await balanceAfter(toBlock)];
  const changed = before === null || after === null ? null : await between(fromBlock - 1, before, toBlock, after);
  return changed ?? Array.from({ length: toBlock - fromBlock + 1 }, (_, offset) => fromBlock + offset);
}
