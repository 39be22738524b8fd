import { describe, expect, it } from 'vitest';
import { AdmittedProviders } from '../../../../src/adapters/rpc/admitted-providers.ts';
import { askBeforeEnding } from '../../../../src/adapters/rpc/ask-before-ending.ts';
import { createRpcPool } from '../../../../src/adapters/rpc/pool.ts';
import { ChainUnavailable } from '../../../../src/ports/chain/chain.ts';
import { TransferImpossible } from '../../../../src/ports/outgoing/transaction.ts';
import { ProviderFault } from '../../../../src/ports/chain/rpc-pool.ts';

const FROZEN = { kind: 'fail', reason: 'recipient_frozen' } as const;
const READY = { kind: 'ready' } as const;
const REFUSED = new TransferImpossible('transfer_rejected', 'the token refuses the transfer');

type Answer = typeof FROZEN | typeof READY | Error;

/** What is concluded from the providers' answers, in the order in which they are preferred. */
async function concluded(...answers: readonly Answer[]): Promise<Answer> {
  const urls = answers.map((_, index) => `http://p${index}.test`);
  const pool = createRpcPool({ network: 'bsc', urls });
  try {
    return await askBeforeEnding(new AdmittedProviders('bsc', pool, async () => undefined), async ({ name }) => {
      const answer = answers[Number(name.slice(1, 2))]!;
      if (answer instanceof Error) throw answer;
      return answer;
    });
  } finally {
    await pool.close();
  }
}

describe('an order ends for good', () => {
  it('if two providers say so', async () => {
    expect(await concluded(FROZEN, FROZEN)).toEqual(FROZEN);
    await expect(concluded(REFUSED, REFUSED)).rejects.toBe(REFUSED);
  });

  it('not if another provider contradicts', async () => {
    expect(await concluded(FROZEN, READY)).toEqual(READY);
    expect(await concluded(REFUSED, READY)).toEqual(READY);
  });

  it('not while no other provider answers', async () => {
    const gone = new ProviderFault('unreachable', 'is away');
    await expect(concluded(FROZEN, gone)).rejects.toThrow(ChainUnavailable);
    await expect(concluded(REFUSED, gone)).rejects.toThrow(ChainUnavailable);
  });

  it('on the word of a single provider if only one is configured', async () => {
    expect(await concluded(FROZEN)).toEqual(FROZEN);
    await expect(concluded(REFUSED)).rejects.toBe(REFUSED);
  });
});

it('one provider is enough for what does not end an order', async () => {
  expect(await concluded(READY, FROZEN)).toEqual(READY);
});
