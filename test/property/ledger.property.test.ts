import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionState } from '../../state-machines/checkout-session.decider.ts';
import { addressKey, balanceKey, LEDGER_ADDRESSES_TABLE } from '../../projections/ledger-rows.ts';
import {
  DEPOSIT_WALLETS,
  merchantAccountOf,
  NETWORK_FEES,
  payableTo,
  refundsReservedOf,
  TREASURY,
  unappliedOf,
  UNMATCHED,
} from '../../src/domain/ledger.ts';
import type { MerchantId, Mode } from '../../src/domain/ids.ts';
import { amountOf, formatAmount, signedAmountOf } from '../../src/domain/money.ts';
import { NATIVE_COIN } from '../../src/domain/networks.ts';
import { ProjectionRunner } from '../../src/runtime/projection-runner.ts';
import { ledger as ledgerProjection } from '../../projections/ledger.projection.ts';
import { MemoryBooks } from '../support/books.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { appendLedger, ledgerOf, ownerOf, steps } from '../support/random-ledger.ts';
import { runsOf } from '../support/runs.ts';

const history = steps.map(ledgerOf);
const DAY_MS = 86_400_000;

/** What the sessions themselves say that each account must hold. */
function expectedBalances(states: ReadonlyMap<number, SessionState>): Map<string, bigint> {
  const expected = new Map<string, bigint>();
  const add = (mode: Mode, account: string, network: string, coin: string, units: bigint): void => {
    const key = balanceKey(mode, account, network, coin);
    expected.set(key, (expected.get(key) ?? 0n) + units);
  };
  for (const [index, { context }] of states) {
    const { mode, merchantId } = ownerOf(index);
    for (const { status, facts, units, aside, credit } of Object.values(context.deposits)) {
      const { network, coin } = facts;
      // What was set aside is nobody's until it is put back, whatever becomes of the transfer meanwhile.
      if (aside) add(mode, UNMATCHED, network, aside.coin, -aside.units);
      if (aside) add(mode, owedTo(merchantId), network, aside.coin, aside.units);
      if (status !== 'final') continue;
      add(mode, credit ? UNMATCHED : DEPOSIT_WALLETS, network, coin, units);
      add(mode, owedTo(merchantId), network, coin, -units);
    }
    for (const { leg, status, units, networkFee } of Object.values(context.refunds).flatMap((refund) => Object.values(refund.legs))) {
      if (status === 'PENDING' || status === 'PROCESSING') add(mode, refundsReservedOf(merchantId), leg.network, leg.coin, -units);
      if (status === 'COMPLETED') add(mode, TREASURY, leg.network, leg.coin, -units);
      if (status !== 'FAILED') add(mode, owedTo(merchantId), leg.network, leg.coin, units);
      if (networkFee === null || status === 'PROCESSING') continue;
      add(mode, NETWORK_FEES, leg.network, NATIVE_COIN[leg.network], amountOf(networkFee));
      add(mode, TREASURY, leg.network, NATIVE_COIN[leg.network], -amountOf(networkFee));
    }
  }
  return expected;
}

/** Payable and unapplied together: how the two divide is the books' own rule. */
const owedTo = (merchantId: MerchantId): string => `${payableTo(merchantId)}+${unappliedOf(merchantId)}`;
function joined(account: string): string {
  const merchant = merchantAccountOf(account);
  return merchant && merchant.part !== 'refunds-reserved' ? owedTo(merchant.merchantId) : account;
}

const REVERSING: ReadonlySet<string> = new Set(['deposit_reversed', 'refund_unpaid', 'transfer_put_back', 'transfer_credit_reversed']);

const withoutZeros = (balances: ReadonlyMap<string, bigint>): Record<string, string> =>
  Object.fromEntries([...balances].filter(([, units]) => units !== 0n).map(([key, units]) => [key, formatAmount(units)]));

describe('the books', () => {
  it('add up to zero, by mode, network and coin, after every event', () => {
    fc.assert(
      fc.property(history, ({ entries }) => {
        const books = new MemoryBooks();
        for (const entry of entries) {
          books.takeEntry(entry);
          for (const [key, sum] of books.sums()) expect([key, sum]).toEqual([key, 0n]);
        }
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('hold what the sessions say was received, is owed, is reserved, was paid out and was taken by the networks', () => {
    fc.assert(
      fc.property(history, ({ entries, states }) => {
        const books = new MemoryBooks();
        for (const entry of entries) books.takeEntry(entry);
        const held = new Map<string, bigint>();
        for (const { mode, account, network, coin, balance } of books.balances()) {
          const key = balanceKey(mode, joined(account), network, coin);
          held.set(key, (held.get(key) ?? 0n) + signedAmountOf(balance));
        }
        expect(withoutZeros(held)).toEqual(withoutZeros(expectedBalances(states)));
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('number entries without gaps, carry each balance from line to line, and take back exactly what a reversal names', () => {
    fc.assert(
      fc.property(history, ({ entries }) => {
        const books = new MemoryBooks();
        for (const entry of entries) books.takeEntry(entry);
        for (const mode of ['test', 'live'] as const) {
          const journal = books.entries(mode);
          expect(journal.map(({ number }) => number)).toEqual(journal.map((_, index) => index + 1));
          const running = new Map<string, bigint>();
          for (const { lines, reverses, kind } of journal) {
            for (const { account, network, coin, amount, balance } of lines) {
              const key = `${account}/${network}/${coin}`;
              running.set(key, (running.get(key) ?? 0n) + signedAmountOf(amount));
              expect(balance).toBe(formatAmount(running.get(key)!, 0));
            }
            expect(reverses !== undefined).toBe(REVERSING.has(kind));
            const original = journal.find(({ id }) => id === reverses)?.lines ?? [];
            const takenBack = original.map(({ balance: _, ...line }) => ({ ...line, amount: formatAmount(-signedAmountOf(line.amount), 0) }));
            expect(lines).toEqual(expect.arrayContaining(takenBack.map((line) => expect.objectContaining(line) as unknown)));
          }
        }
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('put every line into one day of each clock, whenever it was recorded, and every address into its account', () => {
    fc.assert(
      fc.property(history, fc.array(fc.nat({ max: 20 }), { minLength: 250, maxLength: 250 }), ({ entries }, gaps) => {
        const books = new MemoryBooks();
        let days = 0;
        entries.forEach((entry, index) => {
          days += gaps[index] ?? 0;
          books.takeEntry({ ...entry, atMs: entry.atMs + days * DAY_MS });
        });
        const byAddress = new Map<string, bigint>();
        for (const { mode, lines } of [...books.entries('test'), ...books.entries('live')]) {
          for (const { account, network, coin, amount, address } of lines) {
            if (address === undefined) continue;
            const key = addressKey(balanceKey(mode, account, network, coin), address);
            byAddress.set(key, (byAddress.get(key) ?? 0n) + signedAmountOf(amount));
          }
        }
        const held = [...(books.tables.get(LEDGER_ADDRESSES_TABLE) ?? [])].map(([key, row]): [string, bigint] => [
          key,
          signedAmountOf(row.balance as string),
        ]);
        expect(new Map(held)).toEqual(byAddress);
        for (const { mode, account, network, coin, balance, months } of books.balances()) {
          const key = balanceKey(mode, account, network, coin);
          for (const [index, clock] of (['recorded', 'chain'] as const).entries()) {
            const moved = books.movedOnDays(key, clock);
            expect(
              formatAmount(
                [...moved.values()].reduce((sum, units) => sum + units, 0n),
                0,
              ),
            ).toBe(balance);
            for (const [month, amounts] of Object.entries(months)) {
              const inMonth = [...moved].filter(([day]) => day.startsWith(month)).reduce((sum, [, units]) => sum + units, 0n);
              expect(formatAmount(inMonth, 0)).toBe(amounts[index]);
            }
          }
        }
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('are the same after a rebuild, however the events were cut into batches', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 1, max: 40 }), async ({ entries }, maxBatch) => {
        const store = new MemoryEventStore();
        const model = new MemoryReadModel();
        const runner = new ProjectionRunner({
          store,
          readModel: model,
          projections: [ledgerProjection],
          clock: { nowMs: () => 0 },
          maxBatch,
          cacheRows: 3,
        });
        await appendLedger(store, entries);
        try {
          await runner.start();
          await runner.ready();
          expect(await runner.parked()).toEqual([]);
          const rows = (): unknown => Object.fromEntries([...model.tables].map(([name, table]) => [name, Object.fromEntries([...table].sort())]));
          const before = rows();
          await runner.rebuild(['ledger']);
          await runner.ready();
          expect(rows()).toEqual(before);
        } finally {
          await runner.stop();
          await store.close();
        }
      }),
      { numRuns: runsOf(30) },
    );
  });
});
