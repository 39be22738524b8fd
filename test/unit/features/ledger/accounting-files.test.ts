import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { documentsStream, treasuryStream } from '../../../../src/domain/values/streams.ts';
import { bookRateCommands } from '../../../../src/operator/books/rates.ts';
import { windows1252 } from '../../../../src/features/ledger/accounting/windows-1252.ts';
import { readCamt053, readDatev, readQuickbooks, readXero } from '../../../support/accounting-rules.ts';
import { inOffice, type BooksOffice } from '../../../support/books-office.ts';
import { rowsOf } from '../../../support/exported-rows.ts';
import { REPOSITORY } from '../../../support/repository.ts';
import { CREATED_AT } from '../../../support/session-facts.ts';
import { paidOrder, settlementEvent, settlementTerms } from '../../../support/settlement-log.ts';

const GOLDEN = join(REPOSITORY, 'test/fixtures/accounting');
const DAY = new Date(CREATED_AT * 1000).toISOString().slice(0, 10);
const DAYS = { from: DAY, to: DAY };
const TREASURY = '0xTreasury';
const CHART = {
  currency: 'EUR',
  accounts: {
    'assets:deposit-wallets': '1460',
    'assets:treasury': '1461',
    'equity:operator-funding': '1890',
    'expenses:network-fees': '4970',
    'liabilities:merchants:*:payable': '1700',
    'liabilities:merchants:*:unapplied': '1701',
    'expenses:rounding': '4972',
    'income:exchange-differences': '2660',
  },
  clearing: '1590',
  datev: { consultant: 1001, client: 12, fiscal_year_start: '07-01', account_length: 4 },
  xero: { tax_rate: 'Tax Exempt (0%)' },
};
const RATES = `when,coin,rate\n${DAY},USDT,0.923456\n${DAY},ETH,2345.678901\n`;

/**
 * Two orders of 10 USDT, 1.0000012345 ETH brought to the treasury, and a settlement of 12.345678 USDT that cost 0.001
 * ETH.
 */
async function business(office: BooksOffice): Promise<void> {
  const atMs = CREATED_AT * 1000;
  for (const [stream, event] of [...paidOrder(0), ...paidOrder(1)]) await office.take(stream, event, atMs);
  const funded = {
    mode: 'test',
    network: 'ethereum',
    coin: 'ETH',
    amount: '1.0000012345',
    address: TREASURY,
    fromAddress: null,
  } as const;
  const evidence = { txHash: null, logIndex: null, blockNumber: 1, recordedAtSec: CREATED_AT };
  await office.take(
    treasuryStream('test', 'ethereum'),
    { type: 'TreasuryFunded', data: { ...funded, ...evidence } },
    atMs,
  );
  await office.take(...settlementEvent('SettlementCompleted', settlementTerms('mov_1', '12.345678')), atMs);
  await office.caughtUp();
  office.nowMs = atMs + 1_000;
}

const record = (office: BooksOffice, rates = RATES) =>
  bookRateCommands(office.parts.issue)['ledger.record-rates']!({
    currency: 'EUR',
    source: 'Kraken, daily close',
    rates,
    actor: 'olga',
  });

const inMonth = (work: (office: BooksOffice) => Promise<void>): Promise<void> =>
  inOffice(async (office) => {
    await business(office);
    await record(office);
    await work(office);
  });

/** `WRITE_GOLDEN=1` writes files that there are none of; an existing one is never rewritten. */
function expectGolden(name: string, bytes: Buffer): void {
  const path = join(GOLDEN, name);
  if (process.env['WRITE_GOLDEN'] === '1' && !existsSync(path)) {
    mkdirSync(GOLDEN, { recursive: true });
    writeFileSync(path, bytes);
  }
  expect(bytes.toString('latin1')).toBe(readFileSync(path).toString('latin1'));
}

describe('a file for an accounting program', () => {
  it.each([
    ['datev', 'datev.csv', readDatev],
    ['xero', 'xero.csv', readXero],
    ['quickbooks', 'quickbooks.csv', readQuickbooks],
  ] as const)('is, for %s, byte for byte unchanged, in its documented format', async (document, name, read) =>
    inMonth(async (office) => {
      const bytes = await office.exported({ mode: 'test', document, chart: CHART, ...DAYS });
      expect(read(bytes).faults).toEqual([]);
      expectGolden(name, bytes);
    }),
  );

  it('is, as a wallet statement, byte for byte unchanged, with excess decimals in an entry of their own', async () =>
    inMonth(async (office) => {
      const bytes = await office.exported({
        mode: 'test',
        document: 'camt053',
        network: 'ethereum',
        coin: 'ETH',
        address: TREASURY,
        ...DAYS,
      });
      const { faults, entries, closing } = readCamt053(bytes);
      expect(faults).toEqual([]);
      // 1.0000012345 less 0.001: what lies beyond five decimals stands beside the entries.
      expect([entries.length, closing]).toEqual([2, 999n * 10n ** 15n]);
      expectGolden('camt053.xml', bytes);
    }));

  it.each<[string, object, string]>([
    ['no chart', { chart: undefined }, 'chart is missing'],
    [
      'an account that is not mapped',
      { chart: { ...CHART, accounts: { ...CHART.accounts, 'assets:treasury': undefined } } },
      'chart.accounts.assets:treasury',
    ],
    [
      'an account that nobody mapped',
      { chart: { ...CHART, accounts: { 'assets:treasury': '1461' } } },
      'chart.accounts: assets:deposit-wallets is missing',
    ],
    [
      'a wrong number',
      { chart: { ...CHART, accounts: { ...CHART.accounts, 'assets:treasury': '12x' } } },
      '12x is not an account number',
    ],
    ['no clearing account', { chart: { ...CHART, clearing: undefined } }, 'chart.clearing is missing'],
    ['two fiscal years', { from: '2000-01-01' }, 'to must be in the fiscal year of from'],
    ['no first day', { from: undefined }, 'from is missing'],
    ['another clock', { clock: 'chain' }, 'clock must be recorded'],
    ['a merchant', { merchant: 'mer_aaaaaaaaaaaaaaaaaaaa' }, 'merchant does not apply'],
    ['a format', { format: 'jsonl' }, 'format does not apply to datev'],
    ['a currency without rates', { chart: { ...CHART, currency: 'CHF' } }, 'there is no rate of USDT in CHF'],
  ])('is refused with %s, before its first byte, by the name of the field', async (_, change, why) =>
    inMonth(async (office) => {
      await expect(
        office.exported({ mode: 'test', document: 'datev', chart: CHART, ...DAYS, ...change }),
      ).rejects.toThrow(why);
    }),
  );

  it.each<[string, object, string]>([
    ['an unknown network', { network: 'bitcoin' }, 'network must be one of'],
    ['an unknown coin', { coin: 'DOGE' }, 'coin must be one of'],
    ['a long currency', { currency: 'USDT' }, 'currency must be three letters'],
    ['no address', { address: undefined }, 'address is missing'],
  ])('is refused for a wallet with %s', async (_, change, why) =>
    inMonth(async (office) => {
      const args = {
        mode: 'test',
        document: 'camt053',
        network: 'ethereum',
        coin: 'ETH',
        address: TREASURY,
        ...DAYS,
        ...change,
      };
      await expect(office.exported(args as never)).rejects.toThrow(why);
    }),
  );

  it('counts own coin by the requested method', async () =>
    inMonth(async (office) => {
      const cost = await rowsOf(office, { mode: 'test', document: 'cost-basis', currency: 'EUR' });
      expect(cost).toMatchObject([
        {
          account: 'equity:operator-funding',
          coin: 'ETH',
          acquired: '1.0000012345',
          cost: '2345.68',
          held: '1.0000012345',
        },
        {
          account: 'expenses:network-fees',
          coin: 'ETH',
          disposed: '0.001000',
          proceeds: '2.35',
          uncovered: '0.000000',
        },
      ]);
      await expect(
        rowsOf(office, { mode: 'test', document: 'cost-basis', currency: 'EUR', method: 'lifo' }),
      ).rejects.toThrow('method must be');
      await expect(rowsOf(office, { mode: 'test', document: 'valued', currency: 'USDT' })).rejects.toThrow(
        'currency must be',
      );
    }));
});

describe('the evidence of a file for another program', () => {
  it('has its lines, debits and credits as control totals', async () =>
    inMonth(async (office) => {
      await office.exported({ mode: 'test', document: 'datev', chart: CHART, ...DAYS, evidence: true, actor: 'olga' });
      const issued = await office.store.lastOfStream(documentsStream('test'));
      expect(JSON.parse(issued!.data)).toMatchObject({
        ...{ document: 'datev', format: 'extf', actor: 'olga', rows: 14 },
        totals: [
          { column: 'credit', network: null, coin: null, sum: '2396.350000' },
          { column: 'debit', network: null, coin: null, sum: '2396.350000' },
        ],
      });
    }));
});

describe('recorded rates', () => {
  it('are recorded with their source, and never changed', async () =>
    inOffice(async (office) => {
      await business(office);
      expect(await record(office)).toMatchObject({ recorded: 2, source: 'Kraken, daily close' });
      await expect(record(office)).rejects.toThrow(`USDT already has a rate for ${DAY}T00:00:00.000Z`);
      const { 'ledger.rates': rates } = bookRateCommands(office.parts.issue);
      expect(await rates!({ currency: 'eur' })).toMatchObject({
        currency: 'EUR',
        coins: [
          { coin: 'USDT', rates: 1 },
          { coin: 'ETH', last_rate: '2345.678901' },
        ],
      });
      expect(await rates!({})).toEqual({ currencies: ['EUR'] });
    }));

  it.each([
    ['2027-13-01,ETH,1', 'line 1 must be when,coin,rate'],
    [`${DAY},DOGE,1`, 'line 1: coin must be one of'],
    [`${DAY},ETH,0`, 'line 1: rate must be a decimal number above zero'],
    [`${DAY},ETH,-1`, 'line 1: rate must be'],
    [`${DAY},ETH,1\n${DAY},ETH,2`, 'ETH has two rates'],
    ['2099-01-01,ETH,1', 'is in the future'],
    ['\n', 'contains no rates'],
  ])('are refused when they are %j', async (rates, why) =>
    inOffice(async (office) => {
      office.nowMs = CREATED_AT * 1000;
      await expect(record(office, rates)).rejects.toThrow(why);
    }),
  );

  it('of a coin without one for a week value nothing', async () =>
    inOffice(async (office) => {
      await business(office);
      await record(office, '2026-01-01,USDT,0.9\n2026-01-01,ETH,2000\n');
      await expect(office.exported({ mode: 'test', document: 'valued', currency: 'EUR' })).rejects.toThrow(
        'which is too old',
      );
    }));
});

describe('Windows-1252', () => {
  it('is encoded as in other programs, with a question mark for missing letters', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index).filter(
      (byte) => ![0x81, 0x8d, 0x8f, 0x90, 0x9d].includes(byte),
    );
    expect(windows1252(new TextDecoder('windows-1252').decode(bytes))).toEqual(bytes);
    expect([...windows1252('₿ŁA')]).toEqual([0x3f, 0x3f, 0x41]);
  });
});
