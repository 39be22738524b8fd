import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionState } from '../../state-machines/checkout-session/session.decider.ts';
import { addressKey, balanceKey, LEDGER_ADDRESSES_TABLE, type EntryRow } from '../../projections/ledger/rows.ts';
import {
  LEDGER_DEPOSITS_TABLE,
  LEDGER_SESSIONS_TABLE,
  type BookedDeposit,
  type SessionBooksRow,
} from '../../projections/ledger/session-books.ts';
import {
  DEPOSIT_WALLETS,
  merchantAccountOf,
  NETWORK_FEES,
  payableTo,
  refundsReservedOf,
  SERVICE_FEES,
  TREASURY,
  unappliedOf,
  UNMATCHED,
} from '../../src/domain/money/ledger.ts';
import type { MerchantId, Mode } from '../../src/domain/values/ids.ts';
import { amountOf, formatAmount, signedAmountOf } from '../../src/domain/money/money.ts';
import { NATIVE_COIN } from '../../src/domain/networks/networks.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { ledger as ledgerProjection } from '../../projections/ledger/ledger.projection.ts';
import { MemoryBooks } from '../support/books.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { sessionTable } from '../../src/features/shared/handlers/session-handler.ts';
import { arrived, held as heldBy } from '../../state-machines/checkout-session/session.state.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import {
  appendHistory,
  historyOf,
  ownerOf,
  serviceFeeOf,
  sessionIdOf,
  steps,
  type HistoryEntry,
} from '../support/random-history.ts';
import {
  createdFacts,
  depositFacts,
  depositReverted,
  sessionPaid,
  depositDetected,
  depositConfirmed,
} from '../support/session-facts.ts';
import { runsOf } from '../support/runs.ts';

const history = steps.map(historyOf);
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
    for (const { status, facts, units, aside, credit } of context.deposits) {
      const { network, coin } = facts;
      // What was set aside is nobody's until it is put back, whatever becomes of the transfer meanwhile.
      if (aside) add(mode, UNMATCHED, network, aside.coin, -aside.units);
      if (aside) add(mode, owedTo(merchantId), network, aside.coin, aside.units);
      if (status !== 'final') continue;
      add(mode, credit ? UNMATCHED : DEPOSIT_WALLETS, network, coin, units);
      add(mode, owedTo(merchantId), network, coin, -units);
    }
    for (const { leg, status, units, networkFee } of Object.values(context.refunds).flatMap((refund) =>
      Object.values(refund.legs),
    )) {
      if (status === 'PENDING' || status === 'PROCESSING')
        add(mode, refundsReservedOf(merchantId), leg.network, leg.coin, -units);
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

const REVERSING: ReadonlySet<string> = new Set([
  ...['deposit_reversed', 'refund_unpaid', 'transfer_put_back', 'transfer_credit_reversed'],
  'service_fee_reversed',
]);
const FEE_KINDS: ReadonlySet<string> = new Set(['service_fee', 'service_fee_reversed']);
const feesIn = (books: MemoryBooks): EntryRow[] =>
  [...books.entries('test'), ...books.entries('live')].filter(({ kind }) => FEE_KINDS.has(kind));

/** `basisPoints` of an amount, rounded down to the six decimals that every token has. */
const feeOn = (units: bigint, basisPoints: number): bigint =>
  ((units * BigInt(basisPoints)) / 10_000n / 10n ** 12n) * 10n ** 12n;

/**
 * The history, and then the chain takes every final transfer of it back and brings each of them again, as the sessions
 * allow.
 */
function withComeback({ entries, states }: ReturnType<typeof historyOf>): HistoryEntry[] {
  const after = [...entries];
  for (const [session, state] of states) {
    let now = state;
    const add = (event: SessionEvent): void => {
      const next = sessionTable.next(now, event);
      if (!next) return;
      now = next;
      after.push({ session, event, atMs: (after.at(-1)?.atMs ?? 0) + 1_000 });
    };
    const finals = [...state.context.deposits].filter(({ status, credit }) => status === 'final' && !credit);
    for (const { facts } of finals) add(depositReverted(facts.depositKey, { headNumber: 400 }));
    for (const { facts, kind } of finals) {
      add(depositDetected(facts, kind));
      add(depositConfirmed(facts, { headNumber: 500 }));
    }
  }
  return after;
}

/** By walking over everything: what deposits that cannot pay have left, and what left the chain while it was set aside. */
function plainPocket(row: SessionBooksRow, deposits: readonly BookedDeposit[], place: string): [bigint, bigint] {
  const at = ({ network, coin }: { readonly network: string; readonly coin: string }): string => `${network}/${coin}`;
  const sum = (amounts: readonly string[]): bigint => amounts.reduce((total, amount) => total + amountOf(amount), 0n);
  const others = deposits.filter(
    (one) => one.kind !== 'on_time' && one.kind !== 'own' && one.entry !== null && !one.aside && at(one) === place,
  );
  const late = Object.values(row.lateCredits ?? {}).filter((one) => at(one) === place);
  const legs = Object.values(row.legs).filter((one) => at(one) === place);
  const lost = deposits.flatMap(({ network, coin, amount, entry, aside }) => {
    if (!aside || at({ network, coin: aside.coin }) !== place) return [];
    const left = amountOf(aside.amount) - (entry !== null && coin === aside.coin ? amountOf(amount) : 0n);
    return left > 0n ? [left] : [];
  });
  return [
    sum([...others, ...late].map(({ amount }) => amount)) - sum(legs.map(({ fromOthers }) => fromOthers)),
    lost.reduce((total, units) => total + units, 0n),
  ];
}

/**
 * What the operator must have of each session, told by the session's own machine: a fee for as long as it is paid and
 * not reversed.
 */
function expectedFees(entries: readonly HistoryEntry[]): Map<number, bigint> {
  const states = new Map<number, SessionState>();
  const fees = new Map<number, bigint>();
  for (const { session, event } of entries) {
    const state = sessionTable.next(states.get(session) ?? sessionTable.initial, event)!;
    states.set(session, state);
    const { paid, due, tolerance } = state.context;
    const money = arrived(state.context);
    if (paid === null || money < due - tolerance) fees.delete(session);
    else if (!fees.has(session)) fees.set(session, feeOn(money < due ? money : due, serviceFeeOf(session)));
  }
  return fees;
}

const withoutZeros = (balances: ReadonlyMap<string, bigint>): Record<string, string> =>
  Object.fromEntries(
    [...balances].filter(([, units]) => units !== 0n).map(([key, units]) => [key, formatAmount(units)]),
  );

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
        // A service fee only moves money between these accounts; what it must be is told below.
        const expected = expectedBalances(states);
        for (const { mode, account, network, coin, amount } of feesIn(books).flatMap(({ mode, lines }) =>
          lines.map((line) => ({ mode, ...line })),
        )) {
          const key = balanceKey(mode, joined(account), network, coin);
          expected.set(key, (expected.get(key) ?? 0n) + signedAmountOf(amount));
        }
        for (const { mode, account, network, coin, balance } of books.balances()) {
          const key = balanceKey(mode, joined(account), network, coin);
          held.set(key, (held.get(key) ?? 0n) + signedAmountOf(balance));
        }
        expect(withoutZeros(held)).toEqual(withoutZeros(expected));
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('owe a merchant what is due of every paid order whose money is there, also after the chain reverted it and brought it back', () => {
    fc.assert(
      fc.property(history, fc.boolean(), ({ entries, states }, comesBack) => {
        const lived = comesBack ? withComeback({ entries, states }) : entries;
        const books = new MemoryBooks();
        const after = new Map<number, SessionState>();
        for (const entry of lived) {
          books.takeEntry(entry);
          after.set(entry.session, sessionTable.next(after.get(entry.session) ?? sessionTable.initial, entry.event)!);
        }
        const journal = [...books.entries('test'), ...books.entries('live')];
        for (const [index, { context }] of after) {
          // What a refund takes of an order, and what it cannot take when the money is gone, is told by examples.
          if (context.paid === null || Object.keys(context.refunds).length > 0) continue;
          const { merchantId } = ownerOf(index);
          const lines = journal
            .filter(({ sessionId, kind }) => sessionId === sessionIdOf(index) && !FEE_KINDS.has(kind))
            .flatMap((entry) => entry.lines);
          const owed = lines.reduce(
            (sum, line) => (line.account === payableTo(merchantId) ? sum - signedAmountOf(line.amount) : sum),
            0n,
          );
          const money = arrived(context);
          expect([index, owed]).toEqual([index, money < context.due ? money : context.due]);
        }
      }),
      { numRuns: runsOf(100) },
    );
  });

  it('keep sums of a session that agree with its deposits, refunds and attached transfers', () => {
    let others = 0;
    let lost = 0;
    fc.assert(
      fc.property(history, fc.boolean(), ({ entries, states }, comesBack) => {
        const books = new MemoryBooks();
        for (const entry of comesBack ? withComeback({ entries, states }) : entries) {
          books.takeEntry(entry);
          const id = sessionIdOf(entry.session);
          const row = books.tables.get(LEDGER_SESSIONS_TABLE)?.get(id) as SessionBooksRow | undefined;
          if (!row) continue;
          const deposits = [...(books.tables.get(LEDGER_DEPOSITS_TABLE) ?? [])].flatMap(([key, deposit]) =>
            key.startsWith(`${id}/`) ? [deposit as unknown as BookedDeposit] : [],
          );
          for (const [place, pocket] of Object.entries(row.pockets)) {
            const plain = plainPocket(row, deposits, place);
            expect([place, signedAmountOf(pocket.others), signedAmountOf(pocket.lostAside)]).toEqual([place, ...plain]);
            others += plain[0] === 0n ? 0 : 1;
            lost += plain[1] === 0n ? 0 : 1;
          }
        }
      }),
      { numRuns: runsOf(100) },
    );
    expect(others).toBeGreaterThan(0);
    expect(lost).toBeGreaterThan(0);
  });

  it('never hold a negative amount of an order or more than its due, whatever is refunded, reverted, set aside and put back', () => {
    fc.assert(
      fc.property(history, fc.boolean(), ({ entries, states }, comesBack) => {
        const books = new MemoryBooks();
        for (const entry of comesBack ? withComeback({ entries, states }) : entries) {
          books.takeEntry(entry);
          const { pockets, order, coin } = books
            .rows<SessionBooksRow>(LEDGER_SESSIONS_TABLE)
            .find(({ sessionId }) => sessionId === sessionIdOf(entry.session))!;
          let held = 0n;
          for (const [pocket, { payable }] of Object.entries(pockets)) {
            expect([pocket, signedAmountOf(payable) >= 0n]).toEqual([pocket, true]);
            if (pocket.endsWith(`/${coin}`)) held += signedAmountOf(payable);
            else expect([pocket, payable]).toEqual([pocket, '0']);
          }
          expect(held).toBeLessThanOrEqual(order === undefined ? 0n : amountOf(order.due));
        }
        if (comesBack) return;
        // What a merchant may be settled is never a stranger's money.
        for (const [index, { context }] of states) {
          const row = books
            .rows<SessionBooksRow>(LEDGER_SESSIONS_TABLE)
            .find(({ sessionId }) => sessionId === sessionIdOf(index));
          const payable = Object.values(row?.pockets ?? {}).reduce(
            (sum, pocket) => sum + signedAmountOf(pocket.payable),
            0n,
          );
          expect([index, payable <= heldBy(context)]).toEqual([index, true]);
        }
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('charge the merchant the service fee of every paid order, and none if none is set', () => {
    fc.assert(
      fc.property(history, fc.boolean(), ({ entries, states }, comesBack) => {
        const lived = comesBack ? withComeback({ entries, states }) : entries;
        const books = new MemoryBooks();
        for (const entry of lived) books.takeEntry(entry);
        const fees = expectedFees(lived);
        for (const index of states.keys()) {
          const own = feesIn(books).filter(({ sessionId }) => sessionId === sessionIdOf(index));
          const sumOn = (account: string): bigint =>
            own
              .flatMap(({ lines }) => lines)
              .reduce((sum, line) => (line.account === account ? sum + signedAmountOf(line.amount) : sum), 0n);
          expect([index, -sumOn(SERVICE_FEES)]).toEqual([index, fees.get(index) ?? 0n]);
          expect(sumOn(payableTo(ownerOf(index).merchantId))).toBe(-sumOn(SERVICE_FEES));
          expect(own.map(({ kind }) => kind)).toEqual(
            own.map((_, at) => (at % 2 === 0 ? 'service_fee' : 'service_fee_reversed')),
          );
          if (serviceFeeOf(index) === 0) expect(own).toEqual([]);
        }
      }),
      { numRuns: runsOf(100) },
    );
  });

  it('split a service fee between networks to the unit, and never take more from one than the payment brought there', () => {
    const amount = fc.bigInt({ min: 0n, max: 20n * 10n ** 18n });
    const parts = fc.tuple(
      amount.map((units) => units - (units % 10n ** 12n)),
      fc.oneof(
        amount,
        amount.map((units) => units / 10n ** 12n),
      ),
    );
    fc.assert(
      fc.property(
        parts,
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 0, max: 6 }),
        ([onEthereum, onBsc], basisPoints, decimals) => {
          const brought = { ethereum: onEthereum, bsc: onBsc };
          const total = onEthereum + onBsc;
          if (total === 0n) return;
          const policy = { tolerance: '0', dustLimit: '0', serviceFeeBasisPoints: basisPoints };
          const paymentOptions = createdFacts().paymentOptions.map((option) => ({ ...option, decimals }));
          const events: SessionEvent[] = [
            { type: 'SessionCreated', data: createdFacts({ dueAmount: formatAmount(total), policy, paymentOptions }) },
          ];
          for (const network of ['ethereum', 'bsc'] as const) {
            const facts = depositFacts({ network, amount: formatAmount(brought[network]) });
            events.push(depositDetected(facts), depositConfirmed(facts));
          }
          const due = formatAmount(total);
          events.push(sessionPaid({ due, received: due, paidAtSec: 1 }));
          const books = new MemoryBooks();
          for (const event of events) books.takeEntry({ session: 0, event, atMs: 1_800_000_000_000 });
          const step = 10n ** BigInt(18 - decimals);
          let charged = 0n;
          for (const { account, network, amount: text } of feesIn(books).flatMap(({ lines }) => lines)) {
            if (account !== SERVICE_FEES) continue;
            const share = -signedAmountOf(text);
            charged += share;
            expect(share % step).toBe(0n);
            expect(share).toBeGreaterThan(0n);
            expect(share).toBeLessThanOrEqual(brought[network as 'ethereum' | 'bsc']);
          }
          expect(charged).toBe(((total * BigInt(basisPoints)) / 10_000n / step) * step);
        },
      ),
      { numRuns: runsOf(300) },
    );
  });

  it('number entries without gaps, carry each balance from line to line, and reverse exactly what a reversal names', () => {
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
            // A payment and its service fee are of one event.
            const original =
              journal.find((entry) => entry.id === reverses && FEE_KINDS.has(entry.kind) === FEE_KINDS.has(kind))
                ?.lines ?? [];
            const takenBack = original.map(({ balance: _, ...line }) => ({
              ...line,
              amount: formatAmount(-signedAmountOf(line.amount), 0),
            }));
            expect(lines).toEqual(
              expect.arrayContaining(takenBack.map((line) => expect.objectContaining(line) as unknown)),
            );
          }
        }
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('assign every line to one day of each clock, whenever it was recorded, and every address to its account', () => {
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
              const inMonth = [...moved]
                .filter(([day]) => day.startsWith(month))
                .reduce((sum, [, units]) => sum + units, 0n);
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
        await appendHistory(store, entries);
        try {
          await runner.start();
          await runner.ready();
          expect(await runner.parked()).toEqual([]);
          const rows = (): unknown =>
            Object.fromEntries([...model.tables].map(([name, table]) => [name, Object.fromEntries([...table].sort())]));
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
