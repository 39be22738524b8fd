import { describe, expect, it } from 'vitest';
import { evmInflows } from '../../../../src/adapters/evm/outflows.ts';
import { solanaInflows } from '../../../../src/adapters/solana/outflows.ts';
import { TRANSFER_TOPIC } from '../../../../src/adapters/evm/transfer-log.ts';
import type { NetworkSettings } from '../../../../src/domain/networks.ts';
import { fundingsOf } from '../../../../src/features/treasury/fundings.ts';
import type { SeenInflow } from '../../../../src/ports/outgoing-chain.ts';
import type { RpcProvider } from '../../../../src/ports/rpc-pool.ts';

const UNIT = 10n ** 18n;
const facts = { mode: 'test', network: 'ethereum', coin: 'USDT', address: '0xtreasury', blockNumber: 100, recordedAtSec: 7 } as const;
const inflow = (units: bigint, txHash: string, change: Partial<SeenInflow> = {}): SeenInflow => ({
  ...{ coin: 'USDT', units: units * UNIT, fromAddress: '0xbank', txHash, logIndex: 1, blockNumber: 90 },
  ...change,
});
const told = (units: bigint, inflows: readonly SeenInflow[]) =>
  fundingsOf(facts, units * UNIT, inflows).map(({ amount, txHash, blockNumber }) => [amount, txHash, blockNumber]);

describe('money that was brought to the treasury', () => {
  it('is booked with the transactions that come to exactly as much', () => {
    expect(told(30n, [inflow(10n, '0xa'), inflow(20n, '0xb'), inflow(5n, '0xc', { coin: 'USDC' })])).toEqual([
      ['10.00', '0xa', 90],
      ['20.00', '0xb', 90],
    ]);
    expect(told(10n, [inflow(10n, '0xa'), inflow(20n, '0xnew', { blockNumber: 101 })])).toEqual([['10.00', '0xa', 90]]);
    expect(told(30n, [inflow(10n, '0xa'), inflow(20n, '0xnew', { blockNumber: 101 })])).toHaveLength(2);
  });

  it('is booked as one sum without a transaction where they come to anything else, never as more or less than the balance shows', () => {
    for (const inflows of [[], [inflow(10n, '0xa')], [inflow(40n, '0xa')], [inflow(30n, '0xa', { coin: 'USDC' })]])
      expect(told(30n, inflows)).toEqual([['30.00', null, 100]]);
  });
});

describe('transfers that others made to an address', () => {
  const strangersAmong = async (hashes: readonly string[]) => new Set(hashes.filter((hash) => !hash.includes('5eeb')));

  it('are read from the logs of the coins, without what we signed and what came from the address itself', async () => {
    const [own, bank] = ['0x00000000000000000000000000000000000000aa', '0x00000000000000000000000000000000000000bb'];
    const token = '0x00000000000000000000000000000000000000cC';
    const topic = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
    const log = (transactionHash: string, from: string, units: number) => ({
      ...{ address: token, topics: [TRANSFER_TOPIC, topic(from), topic(own)], transactionHash, logIndex: '0x2', blockNumber: '0x20' },
      data: `0x${units.toString(16).padStart(64, '0')}`,
    });
    const asked: unknown[] = [];
    const provider = {
      call: async (method: string, [filter]: readonly unknown[]) => {
        if (method === 'eth_blockNumber') return '0x28';
        asked.push(filter);
        return [log('0xF00D', bank, 5_000_000), log('0x5eeb', bank, 1_000_000), log('0xbeef', own, 9_000_000)];
      },
    } as unknown as RpcProvider;
    const settings = { network: 'ethereum', tokens: [{ coin: 'USDT', address: token, decimals: 6 }] } as unknown as NetworkSettings;
    const found = await evmInflows(provider, settings, '0x00000000000000000000000000000000000000AA', 30, strangersAmong);
    expect(found).toEqual([{ coin: 'USDT', units: 5n * UNIT, fromAddress: bank, txHash: '0xf00d', logIndex: 2, blockNumber: 32 }]);
    expect(asked).toMatchObject([{ fromBlock: '0x1e', toBlock: '0x28', topics: [TRANSFER_TOPIC, null, topic(own)] }]);
  });

  it('are read from balances on Solana, native coin among them', async () => {
    const owner = '2KgEFFVhmjzbshgPTphbrnYPXGtXprC9VyFYanwWG3fU';
    const provider = {
      call: async (method: string) =>
        method === 'getSignaturesForAddress'
          ? [
              { signature: 'brought', slot: 9 },
              { signature: '5eeb', slot: 9 },
            ]
          : {
              slot: 9,
              meta: {
                err: null,
                preTokenBalances: [],
                postTokenBalances: [],
                preBalances: [9_000_000_000, 5],
                postBalances: [6_999_995_000, 2_000_000_005],
              },
              transaction: { message: { accountKeys: ['payer', owner], header: { numRequiredSignatures: 1 } } },
            },
    } as unknown as RpcProvider;
    const settings = { network: 'solana', tokens: [] } as unknown as NetworkSettings;
    expect(await solanaInflows(provider, settings, owner, 1, strangersAmong)).toEqual([
      { coin: 'SOL', units: 2n * UNIT, fromAddress: null, txHash: 'brought', logIndex: null, blockNumber: 9 },
    ]);
  });
});
