import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MODES, type MerchantId, type Mode } from '../../src/domain/values/ids.ts';
import { payableTo } from '../../src/domain/money/ledger.ts';
import { formatAmount, signedAmountOf } from '../../src/domain/money/money.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import { inOffice, type BooksOffice } from '../support/books-office.ts';
import { rowsOf, type Row } from '../support/exported-rows.ts';
import { historyOf, ownerOf, sessionIdOf, steps } from '../support/random-history.ts';
import { runsOf } from '../support/runs.ts';
import { settlementEvent, settlementTerms } from '../support/settlement-log.ts';

/* What the books give out says what the journal says, to the last unit. */

const settlements = fc.array(
  fc.record({ after: fc.nat({ max: 60 }), cents: fc.integer({ min: 1, max: 2_000 }), owner: fc.nat({ max: 2 }) }),
  {
    maxLength: 6,
  },
);

async function business(
  office: BooksOffice,
  drawn: Parameters<typeof historyOf>[0],
  paidOut: typeof settlements extends fc.Arbitrary<infer T> ? T : never,
) {
  const { entries } = historyOf(drawn);
  for (const [index, { session, event, atMs }] of entries.entries()) {
    await office.take(sessionStream(sessionIdOf(session)), event, atMs);
    for (const [nth, { cents, owner }] of paidOut.entries()) {
      if (paidOut[nth]!.after !== index) continue;
      const { mode, merchantId } = ownerOf(owner);
      const terms = settlementTerms(`mov_${nth}`, formatAmount(BigInt(cents) * 10n ** 16n), { mode, merchantId });
      await office.take(...settlementEvent('SettlementCompleted', terms), atMs);
    }
  }
  await office.caughtUp();
}

/** Sums of a column by the others, without those that are zero. */
function sumsOf(rows: readonly Row[], column: string, by: readonly string[]): Record<string, string> {
  const sums = new Map<string, bigint>();
  for (const row of rows) {
    const amount = row[column];
    if (typeof amount !== 'string') continue;
    const key = by.map((name) => row[name]).join(' ');
    sums.set(key, (sums.get(key) ?? 0n) + signedAmountOf(amount));
  }
  return Object.fromEntries(
    [...sums].filter(([, units]) => units !== 0n).map(([key, units]) => [key, formatAmount(units)]),
  );
}

const negated = (sums: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(sums).map(([key, amount]) => [key, formatAmount(-signedAmountOf(amount))]));
const PLACE = ['account', 'network', 'coin'];

async function checkMode(office: BooksOffice, mode: Mode): Promise<void> {
  const journal = await rowsOf(office, { mode });
  expect(sumsOf(journal, 'amount', PLACE)).toEqual(
    sumsOf(await rowsOf(office, { mode, document: 'balances' }), 'amount', PLACE),
  );
  expect(sumsOf(journal, 'amount', ['network', 'coin'])).toEqual({});
  const paid = journal.filter(({ kind, account }) => kind === 'payment' && String(account).endsWith(':payable'));
  const payments = await rowsOf(office, { mode, document: 'payments' });
  const ofOrder = ['event_id', 'network', 'coin'];
  expect(sumsOf(payments, 'applied', ofOrder)).toEqual(negated(sumsOf(paid, 'amount', ofOrder)));
  for (const { converted, rounding, due } of payments) {
    if (typeof due !== 'string') continue;
    // More decimals than an amount of the books has: compared as whole numbers of 10^-36.
    expect(exact(converted) + exact(rounding)).toBe(exact(due));
    expect(exact(rounding) >= 0n).toBe(true);
  }
}

const exact = (text: unknown): bigint => {
  const [whole = '', fraction = ''] = String(text).split('.');
  return BigInt(whole + fraction.padEnd(36, '0'));
};

async function checkMerchant(office: BooksOffice, mode: Mode, merchant: MerchantId): Promise<void> {
  office.parts.modeOfMerchant = () => mode;
  const report = await rowsOf(office, { mode, document: 'settlement', merchant });
  const lines = await rowsOf(office, { mode, document: 'lines', merchant });
  const balances = (await rowsOf(office, { mode, document: 'balances' })).filter(({ account }) =>
    String(account).includes(merchant),
  );
  expect(sumsOf(lines, 'amount', PLACE)).toEqual(sumsOf(balances, 'amount', PLACE));
  const own = balances.filter(({ account }) => account === payableTo(merchant));
  expect(sumsOf(report, 'payable', ['network', 'coin'])).toEqual(negated(sumsOf(own, 'amount', ['network', 'coin'])));
  expect(sumsOf(report, 'total', ['network', 'coin'])).toEqual(
    negated(sumsOf(balances, 'amount', ['network', 'coin'])),
  );

  const settled = await rowsOf(office, { mode, document: 'settled-orders', merchant });
  settledRows += settled.length;
  const moves = lines.filter(({ kind, account }) => kind === 'settlement' && account === payableTo(merchant));
  expect(sumsOf(settled, 'amount', ['event_id'])).toEqual(sumsOf(moves, 'amount', ['event_id']));
  // No order is settled for more than was ever owed for it.
  const credited = lines.filter(
    ({ account, kind, amount }) =>
      account === payableTo(merchant) && kind !== 'settlement' && String(amount).startsWith('-'),
  );
  const owed = negated(sumsOf(credited, 'amount', ['session_id', 'network', 'coin']));
  for (const [order, amount] of Object.entries(
    sumsOf(
      settled.filter(({ session_id: id }) => id !== null),
      'amount',
      ['session_id', 'network', 'coin'],
    ),
  ))
    expect(signedAmountOf(amount) <= signedAmountOf(owed[order] ?? '0')).toBe(true);
}

let settledRows = 0;

describe('documents of the books', () => {
  it('agree with the journal, whatever happened: balances, payments, settlement reports and the orders that settlements paid', async () => {
    await fc.assert(
      fc.asyncProperty(steps, settlements, (drawn, paidOut) =>
        inOffice(async (office) => {
          await business(office, drawn, paidOut);
          for (const mode of MODES) await checkMode(office, mode);
          for (const owner of [0, 1, 2].map(ownerOf)) await checkMerchant(office, owner.mode, owner.merchantId);
        }),
      ),
      { numRuns: runsOf(12) },
    );
    // The comparison compared something.
    expect(settledRows).toBeGreaterThan(0);
  });
});
