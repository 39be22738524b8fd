import { TransferImpossible } from '../../ports/outgoing/transaction.ts';
import type { RpcProvider } from '../../ports/chain/rpc-pool.ts';
import type { AdmittedProviders } from './admitted-providers.ts';

/**
 * What one provider answers about an outgoing transaction, unless that would end its order for good (`fail`, or
 * `TransferImpossible` thrown): then two providers must say so where two are configured, and an answer that does not
 * end it counts. Throws `ChainUnavailable` when the second one does not answer.
 */
export async function askBeforeEnding<Answer extends { readonly kind: string }>(
  providers: AdmittedProviders,
  task: (provider: RpcProvider) => Promise<Answer>,
): Promise<Answer> {
  const asked = (provider: RpcProvider): Promise<Answer | TransferImpossible> =>
    task(provider).catch((error: unknown) => {
      if (error instanceof TransferImpossible) return error;
      throw error;
    });
  const first = await providers.on(asked);
  const answer = ends(first) ? ((await providers.ask(asked)).find((other) => !ends(other)) ?? first) : first;
  if (answer instanceof TransferImpossible) throw answer;
  return answer;
}

const ends = (answer: { readonly kind: string } | TransferImpossible): boolean =>
  answer instanceof TransferImpossible || answer.kind === 'fail';
