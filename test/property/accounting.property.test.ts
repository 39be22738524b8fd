import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastDayOf } from '../../src/domain/values/calendar.ts';
import type { BookRate } from '../../src/domain/events/book-rate-events.ts';
import { BOOKED_COINS } from '../../src/domain/money/ledger.ts';
import { formatAmount, signedAmountOf } from '../../src/domain/money/money.ts';
import { BOOK_RATES_STREAM, sessionStream } from '../../src/domain/values/streams.ts';
import { DATEV_COLUMNS } from '../../src/features/ledger/accounting/datev.ts';
import { readCamt053, readDatev, readQuickbooks, readXero, type ReadLine } from '../support/accounting-rules.ts';
import { inOffice, type BooksOffice } from '../support/books-office.ts';
import { historyOf, sessionIdOf, steps } from '../support/random-history.ts';
import { runsOf } from '../support/runs.ts';
import { rowsOf, type Row } from '../support/exported-rows.ts';
import { settlementEvent, settlementTerms } from '../support/settlement-log.ts';

/*
 * Files for other people's software say what the journal says, to the last digit, and keep to what their makers
 * publish.
 */

const DAY_MS = 86_400_000;
const CHART = {
  currency: 'EUR',
  accounts: {
    'assets:deposit-wallets': '1460',
    'assets:treasury': '1461',
    'assets:treasury/*/ETH': '1462',
    'assets:cold-storage': '1463',
    'liabilities:merchants:*:payable': '1700',
    'liabilities:merchants:*:unapplied': '1701',
    'liabilities:merchants:*:refunds-reserved': '1702',
    'liabilities:unmatched': '1703',
    'liabilities:suspense': '1704',
    'equity:operator-funding': '1890',
    'income:service-fees': '8400',
    'expenses:network-fees': '4970',
    'expenses:unknown-outflows': '4971',
    'expenses:rounding': '4972',
    'income:exchange-differences': '2660',
  },
  clearing: '1590',
  datev: { consultant: 1001, client: 12, fiscal_year_start: '01-01', account_length: 4 },
} as const;

const rateTexts = fc.array(fc.constantFrom('0.913372', '0.87', '1.000001', '2345.678901', '0.00000012', '3'), {
  minLength: 12,
  maxLength: 12,
});

async function business(
  office: BooksOffice,
  drawn: Parameters<typeof historyOf>[0],
  gaps: readonly number[],
  rates: readonly string[],
): Promise<void> {
  const { entries } = historyOf(drawn);
  const startMs = Date.UTC(2027, 0, 20);
  const shift = startMs - (entries[0]?.atMs ?? startMs);
  let days = 0;
  const recorded = entries.map((entry, index) => ({
    ...entry,
    atMs: entry.atMs + shift + (days += gaps[index % gaps.length]!) * DAY_MS,
  }));
  const endMs = (recorded.at(-1)?.atMs ?? startMs) + 40 * DAY_MS;
  const all: BookRate[] = [];
  // Block times of drawn histories are all of one moment; rates go back to it.
  for (const coin of BOOKED_COINS) {
    for (let atMs = startMs - 8 * DAY_MS, index = 0; atMs < endMs; atMs += 5 * DAY_MS, index += 1)
      all.push({ coin, atSec: Math.floor(atMs / 1000), rate: rates[(index + coin.length) % rates.length]! });
  }
  const data = { currency: 'EUR', source: 'drawn', rates: all, actor: 'ada', recordedAtSec: 0 };
  await office.take(BOOK_RATES_STREAM, { type: 'BookRatesRecorded', data }, startMs);
  for (const [index, { session, event, atMs }] of recorded.entries()) {
    await office.take(sessionStream(sessionIdOf(session)), event, atMs);
    if (index % 9 !== 4) continue;
    const [stream, settled] = settlementEvent('SettlementCompleted', settlementTerms(`mov_${index}`, '1.234567'));
    await office.take(
      stream,
      { ...settled, data: { ...settled.data, blockTimeSec: Math.floor(atMs / 1000) } } as typeof settled,
      atMs,
    );
  }
  await office.caughtUp();
  office.nowMs = endMs;
}

let [revaluations, roundings] = [0, 0];

const sumBy = <Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  unitsOf: (item: Item) => bigint,
): Record<string, string> => {
  const sums = new Map<string, bigint>();
  for (const item of items) sums.set(keyOf(item), (sums.get(keyOf(item)) ?? 0n) + unitsOf(item));
  return Object.fromEntries(
    [...sums].filter(([, units]) => units !== 0n).map(([key, units]) => [key, formatAmount(units)]),
  );
};
const valueOf = (row: Row): bigint => signedAmountOf(String(row['value']));
const placeOf = ({ account, network, coin }: Row): string => `${account}/${network}/${coin}`;

/** By the rule in words: the value of a coin at a rate, half away from zero to the cent. */
function worth(amount: string, rate: string): bigint {
  const exact = signedAmountOf(amount) * signedAmountOf(rate);
  const cent = 10n ** 34n;
  const size = exact < 0n ? -exact : exact;
  const cents = size / cent + (size % cent >= cent / 2n ? 1n : 0n);
  return (exact < 0n ? -cents : cents) * 10n ** 16n;
}

function checkValues(valued: readonly Row[], journal: readonly Row[]): void {
  const lines = journal.filter(({ line }) => line !== 0);
  expect(
    sumBy(
      valued.filter(({ amount }) => amount !== null),
      placeOf,
      ({ amount }) => signedAmountOf(String(amount)),
    ),
  ).toEqual(sumBy(lines, placeOf, ({ amount }) => signedAmountOf(String(amount))));
  expect(sumBy(valued, ({ entry, recorded_day: day }) => `${entry} ${entry === null ? day : ''}`, valueOf)).toEqual({});
  for (const { amount, rate, value, account, kind, rate_source: source } of valued) {
    if (amount !== null)
      expect([account, signedAmountOf(String(value))]).toEqual([account, worth(String(amount), String(rate))]);
    // Of an account that was emptied the rest of its value goes, at no rate.
    if (account !== 'expenses:rounding' && !(kind === 'revaluation' && rate === null)) expect(source).toBe('drawn');
  }
}

/** At the end of a month everything is worth what it is worth at that moment. */
function checkRevaluation(valued: readonly Row[]): number {
  const ends = new Set(valued.filter(({ kind }) => kind === 'revaluation').map(({ recorded_day: day }) => String(day)));
  for (const end of ends) {
    const held = new Map<string, { amount: bigint; value: bigint; rate: string | null }>();
    for (const row of valued) {
      if (String(row['recorded_day']) > end || !/^(assets|liabilities):/.test(String(row['account']))) continue;
      const at = held.get(placeOf(row)) ?? { amount: 0n, value: 0n, rate: null };
      if (row['amount'] !== null) at.amount += signedAmountOf(String(row['amount']));
      at.value += valueOf(row);
      if (row['kind'] === 'revaluation' && row['recorded_day'] === end) at.rate = String(row['rate']);
      held.set(placeOf(row), at);
    }
    for (const { amount, value, rate } of held.values())
      if (rate !== null && amount !== 0n) expect(value).toBe(worth(formatAmount(amount), rate));
  }
  return ends.size;
}

const numbersOf = (valued: readonly Row[]): Record<string, string> =>
  sumBy(
    valued,
    ({ account, coin }) => {
      const name = String(account).replace(/mer_[a-z0-9]+/, '*');
      const accounts: Readonly<Record<string, string>> = CHART.accounts;
      return accounts[`${name}/*/${coin}`] ?? accounts[name] ?? name;
    },
    valueOf,
  );

const linesBy = (lines: readonly ReadLine[]): Record<string, string> =>
  sumBy(
    lines,
    ({ account }) => account,
    ({ value }) => value,
  );

async function checkFiles(office: BooksOffice, days: { from: string; to: string }): Promise<void> {
  const valued = await rowsOf(office, { mode: 'test', document: 'valued', currency: 'EUR', ...days });
  const given = { mode: 'test', chart: CHART, ...days };
  for (const [document, read] of [
    ['datev', readDatev],
    ['xero', readXero],
    ['quickbooks', readQuickbooks],
  ] as const) {
    const { faults, lines } = read(await office.exported({ ...given, document }));
    expect([document, faults]).toEqual([document, []]);
    expect([document, linesBy(lines)]).toEqual([document, numbersOf(valued)]);
    expect([
      document,
      sumBy(
        lines,
        ({ group }) => group,
        ({ value }) => value,
      ),
    ]).toEqual([document, {}]);
  }
}

async function checkWallets(
  office: BooksOffice,
  journal: readonly Row[],
  days: { from: string; to: string },
): Promise<void> {
  const wallets = new Map(
    journal
      .filter(({ address }) => address !== null)
      .map((row) => [`${row['network']}/${row['coin']}/${row['address']}`, row]),
  );
  for (const { network, coin, address } of [...wallets.values()].slice(0, 6)) {
    const own = journal.filter(
      (row) => row['network'] === network && row['coin'] === coin && row['address'] === address,
    );
    const until = (day: string) =>
      own
        .filter(({ recorded_day: of }) => String(of) <= day)
        .reduce((sum, row) => sum + signedAmountOf(String(row['amount'])), 0n);
    const bytes = await office.exported({
      mode: 'test',
      document: 'camt053',
      network: String(network),
      coin: String(coin),
      address: String(address),
      ...days,
    });
    const { faults, opening, closing, entries, exact } = readCamt053(bytes);
    expect(faults).toEqual([]);
    roundings += exact.filter((units) => units === null).length;
    expect(entries.reduce((sum, units) => sum + units, opening)).toBe(closing);
    const before = own
      .filter(({ recorded_day: of }) => String(of) < days.from)
      .reduce((sum, row) => sum + signedAmountOf(String(row['amount'])), 0n);
    expect(exact.reduce<bigint>((sum, units) => sum + (units ?? 0n), before)).toBe(until(days.to));
    const step = 10n ** 13n;
    expect([opening, closing]).toEqual([(before / step) * step, (until(days.to) / step) * step]);
  }
}

async function checkCost(office: BooksOffice, journal: readonly Row[]): Promise<void> {
  const isOwn = ({ account }: Row): boolean => /^(equity|income|expenses):/.test(String(account));
  const own = sumBy(
    journal.filter((row) => isOwn(row) && row['amount'] !== null),
    ({ network, coin }) => `${network}/${coin}`,
    ({ amount }) => -signedAmountOf(String(amount)),
  );
  for (const method of ['fifo', 'average']) {
    const rows = await rowsOf(office, { mode: 'test', document: 'cost-basis', currency: 'EUR', method });
    const last = new Map(rows.map((row) => [`${row['network']}/${row['coin']}`, row]));
    expect(
      sumBy(
        [...last],
        ([key]) => key,
        ([, { held }]) => signedAmountOf(String(held)),
      ),
    ).toEqual(own);
    const cost = sumBy(
      rows,
      ({ network, coin }) => `${network}/${coin}`,
      ({ cost }) => signedAmountOf(String(cost)),
    );
    expect(
      sumBy(
        [...last],
        ([key]) => key,
        ([, row]) => signedAmountOf(String(row['held_cost'])),
      ),
    ).toEqual(cost);
    for (const { proceeds, gain, cost: basis } of rows)
      if (proceeds !== null)
        expect(signedAmountOf(String(gain))).toBe(signedAmountOf(String(proceeds)) + signedAmountOf(String(basis)));
  }
}

describe('files for other software', () => {
  it('agree with the journal and follow the rules of their format, whatever happened', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.array(fc.nat({ max: 2 }), { minLength: 9, maxLength: 9 }),
        rateTexts,
        (drawn, gaps, rates) =>
          inOffice(async (office) => {
            await business(office, drawn, gaps, rates);
            const journal = await rowsOf(office, { mode: 'test' });
            const valued = await rowsOf(office, { mode: 'test', document: 'valued', currency: 'EUR' });
            checkValues(valued, journal);
            revaluations += checkRevaluation(valued);
            const days = { from: '2027-02-01', to: lastDayOf('2027-02') };
            await checkFiles(office, days);
            await checkWallets(office, journal, days);
            await checkCost(office, journal);
          }),
      ),
      { numRuns: runsOf(8) },
    );
    // The comparison compared something.
    expect([revaluations > 0, roundings > 0]).toEqual([true, true]);
  });

  it('have as many columns as their makers count', () => {
    expect([DATEV_COLUMNS.length, new Set(DATEV_COLUMNS).size]).toEqual([125, 125]);
  });
});
