import { describe, expect, it } from 'vitest';
import { evmInflows } from '../../../../src/adapters/evm/inflows.ts';
import { solanaInflows } from '../../../../src/adapters/solana/outflows.ts';
import { TRANSFER_TOPIC } from '../../../../src/adapters/evm/transfer-log.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import { fundingsOf } from '../../../../src/features/treasury/fundings.ts';
import type { SeenInflow } from '../../../../src/ports/outgoing/chain.ts';
import type { RpcProvider } from '../../../../src/ports/chain/rpc-pool.ts';

const UNIT = 10n ** 18n;
const facts = {
  mode: 'test',
  network: 'ethereum',
  coin: 'USDT',
  address: '0xtreasury',
  blockNumber: 100,
  recordedAtSec: 7,
} as const;
const window = { fromBlock: 80, toBlock: 103 };
const inflow = (units: bigint, txHash: string, change: Partial<SeenInflow> = {}): SeenInflow => ({
  ...{ coin: 'USDT', units: units * UNIT, fromAddress: '0xbank', txHash, logIndex: 1, blockNumber: 90 },
  ...change,
});
const told = (units: bigint, inflows: readonly SeenInflow[]) =>
  fundingsOf(facts, units * UNIT, inflows, window).map(({ amount, txHash, blockNumber, window: blocks }) => [
    amount,
    txHash,
    blocks ? `${blocks.fromBlock}-${blocks.toBlock}` : blockNumber,
  ]);

describe('money that arrived at the treasury', () => {
  it('is booked with the transactions that add up to exactly as much', () => {
    expect(told(30n, [inflow(10n, '0xa'), inflow(20n, '0xb'), inflow(5n, '0xc', { coin: 'USDC' })])).toEqual([
      ['10.00', '0xa', 90],
      ['20.00', '0xb', 90],
    ]);
    expect(told(10n, [inflow(10n, '0xa'), inflow(20n, '0xnew', { blockNumber: 101 })])).toEqual([['10.00', '0xa', 90]]);
    expect(told(30n, [inflow(10n, '0xa'), inflow(20n, '0xnew', { blockNumber: 101 })])).toHaveLength(2);
  });

  it('is booked without a transaction, with the blocks in one of which it came, as far as transfers do not explain it', () => {
    for (const inflows of [[], [inflow(30n, '0xa', { coin: 'USDC' })], [inflow(29n, '0xnew', { blockNumber: 101 })]])
      expect(told(30n, inflows)).toEqual([['30.00', null, '80-103']]);
    expect(told(30n, [inflow(10n, '0xa'), inflow(7n, '0xnew', { blockNumber: 101 })])).toEqual([
      ['10.00', '0xa', 90],
      ['20.00', null, '80-103'],
    ]);
  });

  it('is booked as no more than the balance shows: transfers of more explain nothing', () => {
    expect(told(30n, [inflow(40n, '0xa')])).toEqual([['30.00', null, '80-103']]);
    expect(told(30n, [inflow(20n, '0xa'), inflow(20n, '0xb')])).toEqual([['30.00', null, '80-103']]);
  });
});

describe('transfers that others made to an address', () => {
  const strangersAmong = async (hashes: readonly string[]) => new Set(hashes.filter((hash) => !hash.includes('5eeb')));

  it('are read from the logs of the coins, without what we signed and what came from the address itself', async () => {
    const [own, bank] = ['0x00000000000000000000000000000000000000aa', '0x00000000000000000000000000000000000000bb'];
    const token = '0x00000000000000000000000000000000000000cC';
    const topic = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
    const log = (transactionHash: string, from: string, units: number) => ({
      address: token,
      topics: [TRANSFER_TOPIC, topic(from), topic(own)],
      transactionHash,
      logIndex: '0x2',
      blockNumber: '0x20',
      blockHash: `0x${'b'.repeat(64)}`,
      data: `0x${units.toString(16).padStart(64, '0')}`,
    });
    const asked: unknown[] = [];
    const provider = {
      call: async (method: string, [filter]: readonly unknown[]) => {
        if (method === 'eth_blockNumber') return '0x28';
        asked.push(filter);
        return [
          log(`0xF00D${'0'.repeat(60)}`, bank, 5_000_000),
          log(`0x5eeb${'0'.repeat(60)}`, bank, 1_000_000),
          log(`0xbeef${'0'.repeat(60)}`, own, 9_000_000),
        ];
      },
    } as unknown as RpcProvider;
    const settings = {
      network: 'ethereum',
      tokens: [{ coin: 'USDT', address: token, decimals: 6 }],
    } as unknown as NetworkSettings;
    const found = await evmInflows(
      provider,
      settings,
      '0x00000000000000000000000000000000000000AA',
      { coins: ['USDT'], fromBlock: 30, toBlock: 40 },
      strangersAmong,
    );
    expect(found).toEqual([
      {
        coin: 'USDT',
        units: 5n * UNIT,
        fromAddress: bank,
        txHash: `0xf00d${'0'.repeat(60)}`,
        logIndex: 2,
        blockNumber: 32,
      },
    ]);
    expect(asked).toMatchObject([{ fromBlock: '0x1e', toBlock: '0x28', topics: [TRANSFER_TOPIC, null, topic(own)] }]);
  });

  it('are read from the transactions of those blocks after which the native balance differs, when they took effect', async () => {
    const own = '0x00000000000000000000000000000000000000aa';
    const hash = (digit: string) => `0x${digit.repeat(64)}`;
    const bank = '0x00000000000000000000000000000000000000bb';
    const listed = [
      { hash: hash('1'), from: bank, to: own.toUpperCase().replace('0X', '0x'), value: '0xde0b6b3a7640000' },
      { hash: hash('2'), from: bank, to: own, value: '0xde0b6b3a7640000' },
      { hash: hash('3'), from: bank, to: bank, value: '0xde0b6b3a7640000' },
      { hash: hash('4'), from: own, to: own, value: '0xde0b6b3a7640000' },
      { hash: hash('5'), from: bank, to: own, value: '0x0' },
      { hash: hash('6'), from: bank, to: null, value: '0x1' },
      { hash: hash('7'), from: bank, to: own, value: '0x1' },
    ];
    const read: unknown[] = [];
    const provider = {
      call: async (method: string, [first, second]: readonly unknown[]) => {
        if (method === 'eth_blockNumber') return '0x28';
        if (method === 'eth_getBalance') return Number(second) >= 35 ? '0x2' : '0x1';
        if (method === 'eth_getTransactionReceipt')
          return {
            transactionHash: first,
            status: first === hash('2') ? '0x0' : '0x1',
            blockNumber: '0x23',
            blockHash: hash('b'),
            logs: [],
          };
        read.push(first);
        return { transactions: listed };
      },
    } as unknown as RpcProvider;
    const settings = { network: 'ethereum', tokens: [] } as unknown as NetworkSettings;
    const sought = { coins: ['ETH'], fromBlock: 10, toBlock: 40 } as const;
    const signed = async (hashes: readonly string[]) => new Set(hashes.filter((one) => one !== hash('7')));
    expect(await evmInflows(provider, settings, own, sought, signed)).toEqual([
      {
        coin: 'ETH',
        units: UNIT,
        fromAddress: '0x00000000000000000000000000000000000000bb',
        txHash: hash('1'),
        logIndex: null,
        blockNumber: 35,
      },
    ]);
    expect(read).toEqual(['0x23']);
    await expect(evmInflows(provider, settings, own, { ...sought, toBlock: 41 }, signed)).rejects.toThrow(
      'does not have block 41 yet',
    );
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
    expect(
      await solanaInflows(provider, settings, owner, { coins: ['SOL'], fromBlock: 1, toBlock: 9 }, strangersAmong),
    ).toEqual([
      { coin: 'SOL', units: 2n * UNIT, fromAddress: null, txHash: 'brought', logIndex: null, blockNumber: 9 },
    ]);
  });
});
