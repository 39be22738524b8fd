import { describe, expect, it } from 'vitest';
import { TREASURY } from '../../../../src/domain/money/ledger.ts';
import { ChainUnavailable } from '../../../../src/ports/chain/chain.ts';
import type { OutflowFacts } from '../../../../src/domain/events/treasury-move-events.ts';
import {
  hasDifference,
  isSameDifference,
  lookAt,
  newestBooked,
  type Account,
  type Look,
} from '../../../../src/features/treasury/reconcile-look.ts';
import { balanceKey } from '../../../../projections/ledger/rows.ts';

const UNIT = 10n ** 18n;
const MILLI = 10n ** 15n;
const HEAD = 103;

interface Given {
  readonly network?: 'ethereum' | 'solana' | 'tron';
  readonly coin?: 'USDT' | 'SOL' | 'TRX';
  /** Whole units of a stablecoin, thousandths of SOL or TRX. */
  readonly booked: bigint;
  readonly onChain: bigint;
  /** The newest that the books name. */
  readonly bookedBlock?: number;
  readonly moves?: readonly {
    readonly kind: 'sweep' | 'withdrawal' | 'gas_top_up';
    readonly amount: string;
    readonly signed: boolean;
  }[];
}

/** The treasury's account in a coin, as one look compares it. */
async function treasuryOf({
  network = 'ethereum',
  coin = 'USDT',
  booked,
  onChain,
  bookedBlock,
  moves = [],
}: Given): Promise<Account> {
  const held =
    coin === 'USDT' ? { coins: { USDT: onChain * UNIT }, native: 0n } : { coins: {}, native: onChain * MILLI };
  const chain = {
    ...{ network, mode: 'test', settings: { tokens: [{ coin: 'USDT', address: '0xtoken', decimals: 6 }] } },
    finalBlock: async () => 100,
    newestBlock: async () => HEAD,
    balances: async (_address: string, atLeast: number) => {
      if (atLeast > HEAD) throw new ChainUnavailable(`nobody has block ${atLeast}`);
      return held;
    },
  };
  const known = moves.map(({ kind, amount, signed }, at) => [
    `mv_${at}`,
    { kind, terms: { coin: 'USDT', amount, fromAddress: '0xfrom' }, approvers: [], signed: signed ? [{}] : [] },
  ]);
  const executor = {
    chain,
    treasury: '0xtreasury',
    context: async () => ({ moves: Object.fromEntries(known) as object, unknownOutflows: {} }),
  };
  const readModel = {
    get: async (_: string, key: string) =>
      key === balanceKey('test', TREASURY, network, coin)
        ? { balance: coin === 'USDT' ? `${booked}` : `0.${String(booked).padStart(3, '0')}` }
        : null,
    scan: async () => [],
  };
  const sent = async () => ({ coins: {}, payouts: 0 });
  const deps = { readModel: readModel as never, sent, newestBooked: async () => bookedBlock ?? 0 };
  const { accounts } = await lookAt(executor as never, deps, []);
  return accounts.find((one) => one.account === 'treasury' && one.coin === coin)!;
}

describe('the newest booked block', () => {
  const booked = (blockNumber: number | null, head: number): Promise<number> =>
    newestBooked(
      { get: async () => (blockNumber === null ? null : { blockNumber }) as never },
      { mode: 'test', network: 'bsc', newestBlock: async () => head },
    );

  it('is required of each provider, unless no chain can have it', async () => {
    expect(await booked(null, 500)).toBe(0);
    expect(await booked(480, 500)).toBe(480);
    expect(await booked(520, 500)).toBe(520);
    expect(await booked(10 ** 12, 500)).toBe(500);
  });
});

describe('two readings', () => {
  const account = (kind: 'treasury' | 'collection', difference: string): Account => ({
    ...{ account: kind, coin: 'USDT', booked: '0.00', onChain: difference, difference },
  });
  const look = (change: Partial<Look>): Look => ({
    throughBlock: 1,
    newestBlock: 2,
    providers: [],
    accounts: [],
    short: [],
    ...change,
  });
  const missing = (amount: string) => look({ short: [{ address: '0xours', coin: 'USDT', amount } as OutflowFacts] });

  it('agree when the same money is missing, whatever arrived at collection addresses in between', () => {
    const before = look({ accounts: [account('treasury', '-5.00'), account('collection', '1.00')] });
    const after = look({ accounts: [account('treasury', '-5.00'), account('collection', '9.00')] });
    expect([isSameDifference(before, after), hasDifference(after)]).toEqual([true, true]);
    expect(isSameDifference(missing('1.00'), missing('1.00'))).toBe(true);
  });

  it('do not agree when other money is missing', () => {
    const before = look({ accounts: [account('treasury', '-5.00')] });
    expect(isSameDifference(before, look({ accounts: [account('treasury', '-6.00')] }))).toBe(false);
    expect(isSameDifference(missing('1.00'), missing('2.00'))).toBe(false);
    expect(hasDifference(look({ accounts: [account('collection', '9.00')] }))).toBe(false);
  });
});

describe('the treasury compared with the books', () => {
  const sweep = { kind: 'sweep', amount: '5', signed: true } as const;

  it('is not compared by a provider that does not have the newest block of the books yet', async () => {
    expect(await treasuryOf({ booked: 95n, onChain: 95n, bookedBlock: HEAD })).toMatchObject({ difference: '0.00' });
    await expect(treasuryOf({ booked: 95n, onChain: 100n, bookedBlock: HEAD + 1 })).rejects.toThrow(ChainUnavailable);
  });

  it("does not treat a sweep's money as funding while the sweep is not final", async () => {
    expect(await treasuryOf({ booked: 100n, onChain: 105n, moves: [sweep] })).toMatchObject({ difference: '0.00' });
    expect(await treasuryOf({ booked: 100n, onChain: 100n, moves: [sweep] })).toMatchObject({ difference: '0.00' });
  });

  it('counts what exceeds everything that sweeps in progress can have brought', async () => {
    expect(await treasuryOf({ booked: 100n, onChain: 135n, moves: [sweep, sweep] })).toMatchObject({
      difference: '25.00',
    });
  });

  it('counts what came while no sweep was signed', async () => {
    expect(await treasuryOf({ booked: 100n, onChain: 105n })).toMatchObject({ difference: '5.00' });
    expect(await treasuryOf({ booked: 100n, onChain: 105n, moves: [{ ...sweep, signed: false }] })).toMatchObject({
      difference: '5.00',
    });
  });

  it('reports no loss that a withdrawal in flight explains, but a sweep explains none', async () => {
    expect(
      await treasuryOf({ booked: 100n, onChain: 95n, moves: [{ kind: 'withdrawal', amount: '5', signed: true }] }),
    ).toMatchObject({
      difference: '0.00',
    });
    expect(await treasuryOf({ booked: 100n, onChain: 95n, moves: [sweep] })).toMatchObject({ difference: '-5.00' });
  });

  it('finds no funding in a top-up in flight, landed or not, and all of what came besides', async () => {
    const moves = [{ kind: 'gas_top_up', amount: '0.02', signed: true }] as const;
    const onTron = { network: 'tron', coin: 'TRX', booked: 100n, moves } as const;
    for (const onChain of [100n, 80n])
      expect(await treasuryOf({ ...onTron, onChain })).toMatchObject({ difference: '0.00' });
    expect(await treasuryOf({ ...onTron, onChain: 130n })).toMatchObject({ difference: '0.03' });
  });

  it('allows for the fee that the treasury may have paid for a sweep on Solana, and no more', async () => {
    const onSolana = { network: 'solana', coin: 'SOL', booked: 100n } as const;
    expect(await treasuryOf({ ...onSolana, onChain: 98n, moves: [sweep] })).toMatchObject({ difference: '0.00' });
    expect(await treasuryOf({ ...onSolana, onChain: 80n, moves: [sweep] })).toMatchObject({ difference: '-0.02' });
    expect(await treasuryOf({ ...onSolana, onChain: 98n })).toMatchObject({ difference: '-0.002' });
  });
});
