import { expect, it } from 'vitest';
import { AdmittedProviders } from '../../../../src/adapters/rpc/admitted-providers.ts';
import { agreedContract } from '../../../../src/adapters/rpc/agreed-contract.ts';
import { agreedDisproof } from '../../../../src/adapters/rpc/agreed-disproof.ts';
import { createRpcPool } from '../../../../src/adapters/rpc/pool.ts';
import { ChainUnavailable, type Disproof } from '../../../../src/ports/chain/chain.ts';
import { ProviderFault, RpcError } from '../../../../src/ports/chain/rpc-pool.ts';

/** Asks providers for a block; null: the provider does not answer. */
async function extremeOf(which: 'lowest' | 'highest', ...blocks: readonly (number | null)[]): Promise<number> {
  const urls = blocks.map((_, index) => `http://p${index}.test`);
  const providers = new AdmittedProviders('bsc', createRpcPool({ network: 'bsc', urls }), async () => undefined);
  try {
    return await providers[which](async ({ name }) => {
      const block = blocks[Number(name.slice(1, 2))];
      if (typeof block !== 'number') throw new ProviderFault('incapable', 'does not say');
      return block;
    });
  } finally {
    await providers.close();
  }
}

it('the lower of two blocks counts, so that one provider alone cannot name a block that no chain has', async () => {
  expect(await extremeOf('lowest', 10 ** 12, 100)).toBe(100);
  expect(await extremeOf('lowest', 100, null, 10 ** 12)).toBe(100);
});

it('the higher of two heads counts, so that one provider that lags cannot hide a block', async () => {
  expect(await extremeOf('highest', 90, 100)).toBe(100);
});

it('a single block counts if there is no other, and none is an error', async () => {
  expect(await extremeOf('lowest', null, 100)).toBe(100);
  await expect(extremeOf('lowest', null, null)).rejects.toThrow(ChainUnavailable);
});

it('a broadcast tells what each provider said to it', async () => {
  const urls = ['one', 'two', 'three', 'four', 'five'].map((name) => `http://${name}.test`);
  const providers = new AdmittedProviders('bsc', createRpcPool({ network: 'bsc', urls }), async () => undefined);
  const faults: Readonly<Record<string, Error>> = {
    'two.test': new RpcError(-32000, 'already known', undefined, 'known'),
    'three.test': new RpcError(-32000, 'transaction underpriced', undefined, 'underpriced'),
    'four.test': new RpcError(-32000, 'tx fee exceeds the configured cap', undefined, 'wrong'),
    'five.test': new ProviderFault('unreachable', 'no answer'),
  };
  const said = await providers.broadcast(async ({ name }) => {
    if (faults[name]) throw faults[name];
  });
  expect(said.map(({ kind }) => kind)).toEqual(['taken', 'taken', 'underpriced', 'refused', 'silent']);
  expect(said[3]).toMatchObject({ provider: 'four.test', text: 'tx fee exceeds the configured cap' });
  await providers.close();
});

it('a broadcast that is refused in words that nobody knows keeps nobody from reading', async () => {
  const pool = createRpcPool({ network: 'tron', urls: ['http://one.test'] });
  const providers = new AdmittedProviders('tron', pool, async () => undefined);
  const [said] = await providers.broadcast(() =>
    Promise.reject(new RpcError(-1, 'TRANSACTION_EXPIRATION_ERROR', undefined, 'unknown')),
  );
  expect(said).toMatchObject({ kind: 'refused', text: 'TRANSACTION_EXPIRATION_ERROR' });
  expect(await providers.ask(async ({ name }) => name)).toEqual(['one.test']);
  await providers.close();
});

it('two URLs of one host answer as one, wherever two must say the same', async () => {
  const urls = ['http://one.test/key-1', 'http://one.test:8545/key-2', 'http://two.test'];
  const pool = createRpcPool({ network: 'bsc', urls });
  const providers = new AdmittedProviders('bsc', pool, async () => undefined);
  const isOther = ({ name }: { readonly name: string }): boolean => name === 'two.test';
  expect(await providers.ask(async (provider) => isOther(provider))).toEqual([false, true]);
  expect(await agreedContract('bsc', pool, async (provider) => isOther(provider))).toBe(true);
  const disproof = { kind: 'reorg' } as unknown as Disproof;
  expect(await agreedDisproof(pool, async (provider) => (isOther(provider) ? null : disproof))).toBeNull();
  await providers.close();
});
