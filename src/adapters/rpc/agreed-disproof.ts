import type { Disproof } from '../../ports/chain/chain.ts';
import { answersOf, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { must } from '../../domain/values/must.ts';

/**
 * Asks the providers, at most two, whether a transfer cannot be in the chain. One that returns the transfer, or has the
 * recorded block at its height without a proof against it (null), outweighs any number of others.
 */
export async function agreedDisproof(
  pool: Pick<RpcPool, 'sources' | 'survey'>,
  ask: (provider: RpcProvider) => Promise<Disproof | null>,
): Promise<Disproof | null> {
  const needed = Math.min(2, pool.sources);
  const opinions = await pool.survey(
    ask,
    (soFar) => answersOf(soFar).length >= needed || answersOf(soFar).includes(null),
  );
  const answers = answersOf(opinions);
  return answers.length >= needed && !answers.includes(null) ? must(answers[0]) : null;
}
