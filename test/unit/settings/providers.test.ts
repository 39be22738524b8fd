import { describe, expect, it } from 'vitest';
import { providerUrls } from '../../../src/settings/providers.ts';
import { missingSecondSources, secondSourceFrom } from '../../../src/settings/providers.ts';
import { readConfig } from '../../../src/config.ts';
import { knownNetwork } from '../../../src/domain/networks/known-networks.ts';
import { amountOf } from '../../../src/domain/money/money.ts';

const TWO = 'https://one.example/key,https://two.example/key';
const SAME_HOST = 'https://one.example/key-1,https://one.example/key-2';
const ONE = 'https://one.example/key';

describe('the amount from which a second source is required', () => {
  it.each([
    ['100 by default on a live network with two providers', { BSC_RPC_URLS: TWO }, 'live', '100'],
    ['what the operator says', { BSC_RPC_URLS: TWO, SECOND_SOURCE_FROM: '0' }, 'live', '0'],
    ['none with one provider', { BSC_RPC_URLS: ONE }, 'live', null],
    ['none where two addresses are of one host', { BSC_RPC_URLS: SAME_HOST }, 'live', null],
    ['none in test mode unless the operator says so', { TEST_BSC_RPC_URLS: TWO }, 'test', null],
    ['what the operator says in test mode, too', { TEST_BSC_RPC_URLS: TWO, SECOND_SOURCE_FROM: '5' }, 'test', '5'],
    ['none in test mode with one provider', { TEST_BSC_RPC_URLS: ONE, SECOND_SOURCE_FROM: '5' }, 'test', null],
  ] as const)('is %s', (_, env, mode, expected) => {
    const urls = providerUrls(readConfig(env), mode, 'bsc');
    expect(secondSourceFrom(readConfig(env), { settings: knownNetwork(mode, 'bsc'), urls })).toBe(
      expected === null ? null : amountOf(expected),
    );
  });

  it('is not taken where payments would wait for ever for a provider that nobody named', () => {
    const env = { BSC_RPC_URLS: SAME_HOST, TRON_API_URLS: TWO, TEST_ETHEREUM_RPC_URLS: ONE };
    expect(missingSecondSources(readConfig(env))).toEqual([]);
    expect(missingSecondSources(readConfig({ ...env, SECOND_SOURCE_FROM: '500' }))).toEqual([
      'SECOND_SOURCE_FROM is set, but BSC_RPC_URLS names one provider: add one of another host, or leave SECOND_SOURCE_FROM out',
    ]);
  });
});
