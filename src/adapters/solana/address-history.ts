import type { TokenAccount } from '../../ports/chain/account-chain.ts';
import type { RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { ACCOUNTS_A_CALL, readBalances, signaturesOf } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

/** Public nodes answer 40 calls of one method in ten seconds. */
const AT_A_TIME = 2;

/**
 * Owners with a token account that holds a coin or ever took part in a transaction, even if it is empty or closed now.
 */
export async function usedSolanaOwners(
  provider: RpcProvider,
  owners: readonly string[],
  accountsOf: (owner: string) => readonly TokenAccount[],
): Promise<Set<string>> {
  const accounts = owners.flatMap(accountsOf);
  const used = new Set<string>();
  for (let from = 0; from < accounts.length; from += ACCOUNTS_A_CALL) {
    const part = accounts.slice(from, from + ACCOUNTS_A_CALL);
    const { units } = await readBalances(provider, part);
    part.filter((_, index) => must(units[index]) > 0n).forEach(({ owner }) => used.add(owner));
  }
  for (let from = 0; from < accounts.length; from += AT_A_TIME) {
    const part = accounts.slice(from, from + AT_A_TIME);
    const pages = await Promise.all(
      part.map(({ account }) => signaturesOf(provider, account, { commitment: 'confirmed', limit: 1 })),
    );
    part.filter((_, index) => must(pages[index]).length > 0).forEach(({ owner }) => used.add(owner));
  }
  return used;
}
