import { createEvmChain } from '../adapters/evm/chain.ts';
import { createRpcPool } from '../adapters/rpc/pool.ts';
import { createTronChain } from '../adapters/tron/chain.ts';
import { must } from '../domain/values/must.ts';
import { reached, type NetworkAccess } from '../settings/network-access.ts';

const BLOCKS = 40;

export interface PaceLook {
  readonly readPerSec: number;
  readonly madePerSec: number;
}

/** How fast blocks are read from one provider, and made; null where that does not tell, as on Solana. */
export async function lookAtPace(access: NetworkAccess, url: string): Promise<PaceLook | null> {
  const { settings } = access;
  if (settings.network === 'solana') return null;
  const options = { settings, pool: createRpcPool({ ...reached(access), urls: [url], maxWaitMs: 0 }) };
  const chain = settings.network === 'tron' ? createTronChain(options) : createEvmChain(options);
  try {
    const last = await chain.finalized();
    if (last === null || last.number < 2 * BLOCKS) return null;
    const first = must(await chain.blockAt(last.number - BLOCKS));
    const begunMs = performance.now();
    for (let next = first.number + 1; next <= last.number;)
      next = (await chain.scan(next, last.number, () => false)).lastBlock.number + 1;
    const [spentSec, madeSec] = [(performance.now() - begunMs) / 1000, last.timeSec - first.timeSec];
    return madeSec > 0 ? { readPerSec: BLOCKS / spentSec, madePerSec: BLOCKS / madeSec } : null;
  } catch {
    return null;
  } finally {
    await chain.close();
  }
}
