import type { Disproof } from '../../ports/chain.ts';
import type { Opinion, RpcPool, RpcProvider } from '../../ports/rpc-pool.ts';
import { must } from '../../domain/must.ts';

/**
 * Asks the providers whether a transfer cannot be in the chain: as many as there are, two at most. One that shows the
 * transfer, or whose block at its height is the recorded one without a proof against it (null), outweighs any number of
 * others.
 */
export async function agreedDisproof(
  pool: Pick<RpcPool, 'size' | 'survey'>,
  ask: (provider: RpcProvider) => Promise<Disproof | null>,
): Promise<Disproof | null> {
  const needed = Math.min(2, pool.size);
  const answersOf = (opinions: readonly Opinion<Disproof | null>[]): (Disproof | null)[] =>
    opinions.flatMap((opinion) => ('value' in opinion ? [opinion.value] : []));
  const opinions = await pool.survey(
    ask,
    (soFar) => answersOf(soFar).length >= needed || answersOf(soFar).includes(null),
  );
  const answers = answersOf(opinions);
  return answers.length >= needed && !answers.includes(null) ? must(answers[0]) : null;
}
