import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { networkFaults } from '../../../src/settings/production-networks.ts';
import { productionFaults } from '../../../src/settings/production-faults.ts';

const token = { coin: 'USDT', address: '0xdAC17F958D2ee523a2206206994597C13D831ec7', decimals: 6 };
const envOf = (chains: Readonly<Record<string, string>>): Record<string, string> => ({
  TEST_ETHEREUM_RPC_URLS: 'https://one.example',
  TEST_BSC_RPC_URLS: 'https://one.example',
  TEST_NETWORKS: JSON.stringify(
    Object.fromEntries(Object.entries(chains).map(([network, id]) => [network, { chain_id: id, tokens: [token] }])),
  ),
});

describe('test networks', () => {
  it('are chains of their own', () => {
    for (const chains of [{}, { ethereum: '31337' }, { ethereum: '31337', bsc: '31338' }])
      expect(networkFaults(readConfig(envOf(chains)))).toEqual([]);
  });

  it.each([
    ['the live chain, which has floors only in live mode', { ethereum: '1' }, 'live ethereum'],
    ['the live chain of another network', { ethereum: '56' }, 'live bsc'],
    ['the chain of another test network, where one payment would count twice', { ethereum: '97' }, 'test ethereum'],
    ['one chain for two', { ethereum: '31337', bsc: '31337' }, 'test ethereum'],
  ])('are not %s', (_, chains, other) => {
    const env = envOf(chains);
    expect(networkFaults(readConfig(env))).toEqual([
      expect.stringMatching(new RegExp(`^TEST_NETWORKS: .* that of ${other}`)),
    ]);
    expect(productionFaults(readConfig(env), env)).toEqual(expect.arrayContaining(networkFaults(readConfig(env))));
  });
});
