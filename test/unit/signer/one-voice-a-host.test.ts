import { expect, it } from 'vitest';
import type { PayoutNetwork } from '../../../src/ports/signer/protocol.ts';
import { agreed, opinions } from '../../../src/signer/chains/chain-view.ts';
import { viewOf } from '../../../src/signer/chains/views.ts';
import { nativeLimitsOf } from '../../../src/domain/networks/native-limits.ts';
import type { ModelChain } from '../../support/model-chains/model-chain.ts';
import { MODELS, onModel } from '../../support/signer-search.ts';

/* One who lies and is configured twice, with two keys for example, does not outvote an honest provider. */

const networkOf = ({ network, chainId, token }: ModelChain, urls: readonly string[]): PayoutNetwork => ({
  ...{ mode: 'test', network, chainId, urls },
  tokens: [{ coin: 'USDT', address: token, decimals: 6 }],
});

it.each(MODELS)('a provider on %s with two URLs is one that says how much was paid', (_, model) =>
  onModel(model, (liar) =>
    onModel(model, async (honest) => {
      const [deposit] = honest.paid;
      liar.show({ ...deposit!, units: 900_000_000n });
      const [own, other] = [liar.urls[0]!, honest.urls[0]!];
      const view = viewOf(networkOf(liar, [own, `${own}/`, other]), nativeLimitsOf(liar.network));
      await expect(view.findDeposit(deposit!.proof)).rejects.toThrow('do not agree');
      const both = viewOf(networkOf(liar, [own, `${own}/`, ...honest.urls]), nativeLimitsOf(liar.network));
      expect(await both.findDeposit(deposit!.proof)).toMatchObject({ units: deposit!.units * 10n ** 12n });
    }),
  ),
);

const of = (...urls: readonly string[]) => ({ network: 'ethereum', urls }) as unknown as PayoutNetwork;

it.each([
  ['keys in the path', 'https://node.example/v2/key-1', 'https://node.example/v2/key-2'],
  ['keys in the query', 'https://node.example/?key=1', 'https://node.example/?key=2'],
  ['names and passwords', 'https://a:b@node.example', 'https://c:d@node.example'],
  ['ports', 'https://node.example', 'https://node.example:8443'],
  ['a name in capitals', 'https://node.example', 'https://NODE.example'],
  ['the dot of the root', 'https://node.example', 'https://node.example.'],
  ['two schemes', 'https://node.example', 'http://node.example:443'],
])('a provider is one, with %s that differ', async (_, one, same) => {
  const read = (url: string): Promise<string> => Promise.resolve(url === 'https://other.example' ? 'true' : 'false');
  await expect(agreed(of(one, same, 'https://other.example'), read)).rejects.toThrow('do not agree');
  expect(await opinions(of(one, same, 'https://other.example'), read)).toEqual(['false', 'true']);
  expect(await agreed(of(one, same), read)).toBe('false');
});

it('two tunnels of this machine are two providers', async () => {
  const read = (url: string): Promise<string> => Promise.resolve(url);
  await expect(agreed(of('http://127.0.0.1:8545', 'http://127.0.0.1:8546'), read)).rejects.toThrow('do not agree');
});
