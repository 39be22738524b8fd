import { ChainUnavailable } from '../../ports/chain/chain.ts';
import { answersOf, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';

/**
 * Whether code controls an address: on the word of one provider, as an answer that lacks the code looks like "no". Two
 * must say "no" where two are configured. Throws `ChainUnavailable`.
 */
export async function agreedContract(
  network: string,
  pool: Pick<RpcPool, 'sources' | 'survey'>,
  isContract: (provider: RpcProvider) => Promise<boolean>,
): Promise<boolean> {
  const needed = Math.min(2, pool.sources);
  const opinions = await pool.survey(
    isContract,
    (soFar) => answersOf(soFar).includes(true) || answersOf(soFar).length >= needed,
  );
  const answers = answersOf(opinions);
  if (answers.includes(true)) return true;
  if (answers.length >= needed) return false;
  const faults = opinions.flatMap((opinion) => ('fault' in opinion ? [opinion.fault.message] : []));
  throw new ChainUnavailable(`${network}: whether an address is a contract is not known (${faults.join('; ')})`);
}
