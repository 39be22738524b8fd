import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { bookRateCommands } from '../../../../src/operator/books/rates.ts';
import { documentStreams, type DocumentParts } from '../../../../src/operator/books/documents.ts';
import { ledgerCommands } from '../../../../src/operator/books/ledger.ts';
import { presentTrialBalance } from '../../../../src/http/presenters/ledger-books.presenter.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import { LedgerBalances } from '../../../../src/features/ledger/balances.ts';
import { LedgerJournal } from '../../../../src/features/ledger/journal.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';
import { MERCHANT_ID } from '../../../support/session-facts.ts';

const readModel = new MemoryReadModel();
const parts: DocumentParts = {
  balances: new LedgerBalances(readModel),
  journal: new LedgerJournal(readModel),
  periods: { close: () => expect.unreachable() } as never,
  notFinal: async () => [],
  modeOfMerchant: () => 'test',
  servedRows: () => Promise.reject(new StoreUnavailable('the rows are being built')),
  statements: { issue: async () => [{ event: {}, data: {} }] as never },
  ...{ store: {} as never, issue: {} as never },
};
const ARGUMENTS = { mode: 'test', account: 'assets:treasury', merchant_id: MERCHANT_ID, format: 'csv' };

describe('the books as an operator reads them', () => {
  const { 'ledger.close': _, ...commands } = ledgerCommands(parts);

  it.each(Object.entries({ ...commands, ...documentStreams(parts) }))(
    'is refused while they are being rebuilt: %s',
    async (_name, read) => {
      await expect(read(ARGUMENTS)).rejects.toThrow(StoreUnavailable);
    },
  );
});

describe('closing a month', () => {
  it('is closed in the name of the operator', async () => {
    const close = async (_mode: string, period: string, actor: string) => ({
      ok: true,
      value: { period, actor, closedAtSec: 1, entry: 'e', balances: {} },
    });
    const { 'ledger.close': run } = ledgerCommands({ ...parts, periods: { close } as never });
    expect(await run!({ mode: 'test', month: '2026-09', operator: 'olga' })).toMatchObject({
      period: '2026-09',
      actor: 'olga',
      statements: 1,
    });
    await expect(run!({ mode: 'test', month: '2026-09', operator: 'x'.repeat(101) })).rejects.toThrow(
      'operator must have',
    );
  });
});

describe('a closing', () => {
  const deposit = {
    sessionId: 'cs_1',
    network: 'ethereum',
    coin: 'USDT',
    amount: '10.00',
    txHash: '0x1',
    blockTimeSec: 1,
  } as const;
  it('names the deposits of the month that are not final, and closes nothing in a dry run', async () => {
    const { 'ledger.close': run } = ledgerCommands({ ...parts, notFinal: async () => [deposit] });
    expect(await run!({ mode: 'test', month: '2026-09', dryRun: true })).toEqual({
      ...{ mode: 'test', period: '2026-09' },
      not_final: [
        { session_id: 'cs_1', network: 'ethereum', coin: 'USDT', amount: '10.00', tx_hash: '0x1', chain_time: 1 },
      ],
    });
  });
});

describe('the moment of a trial balance', () => {
  const asked: unknown[] = [];
  const balances = {
    modeRow: async () => ({ entries: 1 }),
    trialBalance: async (mode: string, asOf: object) => (
      asked.push(asOf),
      { mode, asOf, entries: 0, balances: [], sums: [], sealed: null }
    ),
  };
  const { 'ledger.trial-balance': run } = ledgerCommands({
    ...parts,
    servedRows: async () => undefined,
    balances: balances as never,
  });
  const asOf = async (args: Record<string, string>) => {
    await run!({ mode: 'test', ...args });
    return asked.at(-1);
  };
  const moment = (text: string) => ({ day: '2026-10-30', clock: 'recorded', throughMs: Date.parse(text) });

  it('is the end of a day in UTC or in a time zone, or a moment with its offset or its zone', async () => {
    expect(await asOf({ asOf: '2026-10-31' })).toEqual({ day: '2026-10-31', clock: 'recorded' });
    expect(await asOf({ asOf: '2026-10-31T18:00:00+09:00' })).toEqual(moment('2026-10-31T09:00:00Z'));
    expect(await asOf({ asOf: '2026-10-31', timeZone: 'Asia/Tokyo' })).toEqual(moment('2026-10-31T14:59:59.999Z'));
    expect(await asOf({ asOf: '2026-10-31T18:00', timeZone: 'Europe/Berlin' })).toEqual(moment('2026-10-31T17:00:00Z'));
    expect(await asOf({ asOf: '2026-10-31', timeZone: 'Etc/UTC' })).toEqual({ day: '2026-10-31', clock: 'recorded' });
  });

  it.each([
    [{ asOf: 'yesterday' }, 'as-of must be a day'],
    [{ asOf: '2026-02-30' }, 'as-of must be a day'],
    [{ asOf: '2026-10-31T25:00Z' }, 'as-of must be a day'],
    [{ asOf: '2026-10-31T18:00' }, 'as-of must have an offset'],
    [{ asOf: '2026-10-31T18:00Z', timeZone: 'Asia/Tokyo' }, 'as-of already has an offset'],
    [{ asOf: '2026-10-31', timeZone: 'Mars/Olympus' }, 'time-zone must be the name of a time zone'],
    [{ timeZone: 'Asia/Tokyo' }, 'time-zone needs as-of'],
  ])('is refused as %o', async (args, why) => {
    await expect(asOf(args as Record<string, string>)).rejects.toThrow(why);
  });
});

describe('the totals of a trial balance', () => {
  it('come in the order of networks and coins, whatever was booked first', () => {
    const sums = [
      { network: 'tron', coin: 'USDT', units: 0n },
      { network: 'ethereum', coin: 'USDT', units: 0n },
      { network: 'ethereum', coin: 'ETH', units: 0n },
    ] as const;
    const trial = {
      mode: 'test',
      asOf: { day: null, clock: 'recorded' },
      entries: 0,
      balances: [],
      sums,
      sealed: null,
    } as const;
    expect(presentTrialBalance(trial, null).totals.map(({ network, coin }) => `${network}/${coin}`)).toEqual([
      'ethereum/ETH',
      'ethereum/USDT',
      'tron/USDT',
    ]);
  });
});

describe('the value of balances', () => {
  const nowSec = Date.parse('2026-11-05T12:00:00Z') / 1000;
  const clock = { nowMs: () => nowSec * 1000 };
  const balance = (account: string, coin: string, units: bigint) => ({
    account,
    network: 'ethereum',
    coin,
    units: units * 10n ** 18n,
  });
  const balances = {
    trialBalance: async (mode: string, asOf: object) => ({
      ...{ mode, asOf, entries: 1, sums: [], sealed: null },
      balances: [
        balance('assets:treasury', 'USDT', 100n),
        balance('liabilities:unmatched', 'USDT', -40n),
        balance('expenses:other', 'USDT', 3n),
        balance('assets:treasury', 'USDC', 5n),
      ],
    }),
  };

  it('is said at the newest rate by then, of assets and liabilities alone, and of nothing that has no rate', async () => {
    const store = new MemoryEventStore();
    const issue = { store, clock, random: nodeRandom };
    const rates = `2026-11-01,USDT,0.90\n2026-11-05,USDT,0.80\n2026-10-01,USDC,0.95`;
    await bookRateCommands(issue)['ledger.record-rates']!({ currency: 'EUR', source: 'a bank', rates });
    const { 'ledger.trial-balance': run } = ledgerCommands({
      ...parts,
      servedRows: async () => undefined,
      balances: balances as never,
      store,
      issue,
    });
    const worth = async (asOf?: string) => {
      const { accounts, ...rest } = (await run!({
        mode: 'test',
        currency: 'eur',
        ...(asOf && { asOf }),
      })) as unknown as {
        accounts: { worth: string | null }[];
        worth_at: number;
      };
      return [rest.worth_at, ...accounts.map((account) => account.worth)];
    };
    expect(await worth()).toEqual([nowSec, '80.00', '32.00', null, null]);
    expect(await worth('2026-11-02')).toEqual([Date.parse('2026-11-03') / 1000 - 1, '90.00', '36.00', null, null]);
    // The day is not over yet, and a rate of long ago says nothing.
    expect((await worth('2026-11-05'))[0]).toBe(nowSec);
    expect((await worth('2026-10-20'))[1]).toBeNull();
    await expect(run!({ mode: 'test', currency: 'USDT' })).rejects.toThrow('currency must be an ISO 4217 code');
    expect(Object.keys((await run!({ mode: 'test' })) as object)).not.toContain('worth_in');
  });
});
