import { describe, expect, it } from 'vitest';
import { ledger } from '../../../../projections/ledger/ledger.projection.ts';
import { lastDayOf, momentInZone, nextMonth } from '../../../../src/domain/values/calendar.ts';
import type { SessionEvent } from '../../../../src/domain/events/session-events.ts';
import { DEPOSIT_WALLETS, type LedgerClock } from '../../../../src/domain/money/ledger.ts';
import { formatAmount } from '../../../../src/domain/money/money.ts';
import type { ReadModel } from '../../../../src/ports/read-model/read-model.ts';
import { ProjectionRunner } from '../../../../src/runtime/projections/runner.ts';
import { asOfMoment, LedgerBalances } from '../../../../src/features/ledger/balances.ts';
import { JOURNAL_COLUMNS, journalTable } from '../../../../src/features/ledger/documents/journal.ts';
import { textOf } from '../../../../src/features/ledger/documents/table.ts';
import { csvCell } from '../../../../src/runtime/util/csv.ts';
import { LedgerJournal } from '../../../../src/features/ledger/journal.ts';
import { createWholeRows } from '../../../../src/runtime/projections/whole-rows.ts';
import { LedgerPeriods } from '../../../../src/features/ledger/periods.ts';
import { MerchantLedger } from '../../../../src/features/ledger/merchant-ledger.ts';
import { CheckLedger } from '../../../../src/features/ledger/check.process.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';
import { appendHistory, sessionIdOf } from '../../../support/random-history.ts';
import {
  createdFacts,
  depositFacts,
  MERCHANT_ID,
  sessionPaid,
  depositDetected,
  depositConfirmed,
} from '../../../support/session-facts.ts';

const at = (day: string, time = '12:00:00'): number => Date.parse(`${day}T${time}Z`);
const OWNER = { merchantId: MERCHANT_ID, mode: 'test' } as const;

/** Books that are kept from a store, by the real runner, with payments of 10 USDT. */
class Office {
  readonly store = new MemoryEventStore();
  readonly model = new MemoryReadModel();
  readonly balances = new LedgerBalances(this.model);
  readonly journal = new LedgerJournal(this.model);
  readonly runner = new ProjectionRunner({
    store: this.store,
    readModel: this.model,
    projections: [ledger],
    clock: { nowMs: () => 0 },
  });
  #sessions = 0;
  /** Runs just before a closing is written, as another node would. */
  beforeClosing: (() => Promise<void>) | null = null;

  static async open(): Promise<Office> {
    const office = new Office();
    await office.runner.start();
    return office;
  }

  async close(): Promise<void> {
    await this.runner.stop();
    await this.store.close();
  }

  /** A payment that the chain took at `takenMs` and that was recorded at `recordedMs`. */
  async pay(takenMs: number, recordedMs = takenMs, orderId = `order-${this.#sessions}`): Promise<void> {
    const session = this.#sessions++;
    const facts = depositFacts({ txHash: `0x${session}`, blockTimeSec: takenMs / 1000 });
    const events: SessionEvent[] = [
      {
        type: 'SessionCreated',
        data: createdFacts({
          sessionId: sessionIdOf(session),
          orderId,
          createdAtSec: takenMs / 1000 - 60,
          expiresAtSec: takenMs / 1000 + 60,
        }),
      },
      depositDetected(facts),
      depositConfirmed(facts),
      sessionPaid({ paidAtSec: recordedMs / 1000 }),
    ];
    await appendHistory(
      this.store,
      events.map((event) => ({ session, event, atMs: recordedMs })),
    );
    await this.caughtUp();
  }

  async caughtUp(): Promise<void> {
    expect(await this.runner.caughtUpTo((await this.store.head())!)).toBe(true);
  }

  async wallets(day: string | null, clock: LedgerClock): Promise<string> {
    const [balance] = await this.balances.balances('test', { day, clock }, DEPOSIT_WALLETS);
    return formatAmount(balance?.units ?? 0n);
  }

  periods(nowMs: number): LedgerPeriods {
    let uuids = 0;
    return new LedgerPeriods({
      store: {
        head: () => this.store.head(),
        lastOfStream: (stream) => this.store.lastOfStream(stream),
        append: async (request) => {
          const before = this.beforeClosing;
          this.beforeClosing = null;
          await before?.();
          return this.store.append(request);
        },
      },
      balances: this.balances,
      clock: { nowMs: () => nowMs },
      random: { uuid: () => `close-${(uuids += 1)}`, bytes: (length) => new Uint8Array(length) },
      caughtUpTo: (position) => this.runner.caughtUpTo(position),
      wholeBooks: createWholeRows({ store: this.store, readModel: this.model, projections: this.runner }, ledger),
    });
  }
}

async function inOffice(work: (office: Office) => Promise<void>): Promise<void> {
  const office = await Office.open();
  try {
    await work(office);
  } finally {
    await office.close();
  }
}

describe('the calendar of the books', () => {
  it('knows the ends of months and years', () => {
    expect([lastDayOf('2026-02'), lastDayOf('2028-02'), lastDayOf('2026-12'), nextMonth('2026-12')]).toEqual([
      '2026-02-28',
      '2028-02-29',
      '2026-12-31',
      '2027-01',
    ]);
  });
});

describe('a balance as of a day', () => {
  it('is available by chain time or by recording time', () =>
    inOffice(async (office) => {
      await office.pay(at('2026-10-30'));
      await office.pay(at('2026-10-31', '23:59:59'), at('2026-11-01', '00:03:00'));
      await office.pay(at('2026-11-15'));
      expect(await office.wallets('2026-10-29', 'recorded')).toBe('0.00');
      expect([await office.wallets('2026-10-31', 'recorded'), await office.wallets('2026-10-31', 'chain')]).toEqual([
        '10.00',
        '20.00',
      ]);
      expect([await office.wallets('2026-11-14', 'recorded'), await office.wallets('2026-11-14', 'chain')]).toEqual([
        '20.00',
        '20.00',
      ]);
      expect([await office.wallets('2026-11-15', 'chain'), await office.wallets(null, 'chain')]).toEqual([
        '30.00',
        '30.00',
      ]);
      const trial = await office.balances.trialBalance('test', { day: '2026-11-01', clock: 'chain' });
      expect(trial.sums.map(({ units }) => units)).toEqual([0n]);
    }));
});

describe('a balance as of a moment', () => {
  const at10 = at('2026-10-31', '10:00:00');
  const trialAt = async (office: Office, throughMs: number, clock: LedgerClock) => {
    const { entries, sums, balances } = await office.balances.trialBalance('test', asOfMoment(throughMs, clock));
    expect(sums.every(({ units }) => units === 0n)).toBe(true);
    return [formatAmount(balances.find(({ account }) => account === DEPOSIT_WALLETS)?.units ?? 0n), entries];
  };

  it('counts what came up to it, by either clock, and how many entries that took', () =>
    inOffice(async (office) => {
      await office.pay(at('2026-10-30'));
      await office.pay(at10, at('2026-10-31', '10:05:00'));
      await office.pay(at('2026-10-31', '11:00:00'), at('2026-11-01', '00:03:00'));
      expect(await trialAt(office, at10 - 1, 'chain')).toEqual(['10.00', 3]);
      // The payment itself is no fact of the chain, nor is the deposit when it is only seen: they count when they were
      // written down.
      expect((await trialAt(office, at10, 'chain'))[0]).toBe('20.00');
      expect((await trialAt(office, at10, 'recorded'))[0]).toBe('10.00');
      expect(await trialAt(office, at('2026-10-31', '10:05:00'), 'recorded')).toEqual(['20.00', 6]);
      expect((await trialAt(office, at('2026-10-31', '12:00:00'), 'chain'))[0]).toBe('30.00');
      expect(await trialAt(office, at('2026-10-31', '23:59:59') + 999, 'recorded')).toEqual(['20.00', 6]);
      expect(await trialAt(office, at('2026-11-02'), 'recorded')).toEqual(['30.00', 9]);
    }));

  it('counts entries to the end of a day by either clock', () =>
    inOffice(async (office) => {
      await office.pay(at('2026-09-30', '23:59:00'), at('2026-10-01', '00:01:00'));
      await office.pay(at('2026-10-31'));
      const counted = async (day: string | null, clock: LedgerClock) =>
        (await office.balances.trialBalance('test', { day, clock })).entries;
      expect([
        await counted('2026-09-29', 'chain'),
        await counted('2026-09-30', 'recorded'),
        await counted('2026-10-30', 'recorded'),
      ]).toEqual([0, 0, 3]);
      expect([await counted('2026-10-31', 'recorded'), await counted(null, 'recorded')]).toEqual([6, 6]);
      expect(await counted('2026-09-30', 'chain')).toBeGreaterThan(0);
    }));
});

describe('a moment in a time zone', () => {
  it('respects offsets and their changes', () => {
    const iso = (local: string, zone: string) => new Date(momentInZone(local, zone)).toISOString().slice(0, 16);
    expect(iso('2026-10-25T00:30', 'Europe/Berlin')).toBe('2026-10-24T22:30');
    expect(iso('2026-10-25T02:30', 'Europe/Berlin')).toBe('2026-10-25T01:30');
    expect(iso('2026-10-25T12:00', 'Europe/Berlin')).toBe('2026-10-25T11:00');
    expect(iso('2026-03-29T12:00', 'Europe/Berlin')).toBe('2026-03-29T10:00');
    expect(iso('2026-07-01T00:00', 'Asia/Kathmandu')).toBe('2026-06-30T18:15');
    expect(iso('2026-07-01T00:00', 'America/New_York')).toBe('2026-07-01T04:00');
  });
});

describe('a closed month', () => {
  it('never changes: later findings are booked in the open month', () =>
    inOffice(async (office) => {
      await office.pay(at('2026-10-30'));
      const closed = await office.periods(at('2026-11-02')).close('test', '2026-10', 'operator');
      await office.pay(at('2026-10-31'), at('2026-11-03'));
      expect([await office.wallets('2026-10-31', 'chain'), await office.wallets('2026-11-01', 'chain')]).toEqual([
        '10.00',
        '20.00',
      ]);
      expect(await office.wallets('2026-11-02', 'recorded')).toBe('10.00');
      const { sealed } = await office.balances.trialBalance('test', { day: '2026-10-31', clock: 'chain' });
      expect(sealed).toEqual({ period: '2026-10', entry: closed.ok && closed.value.entry, agrees: true });
      const late = (
        await office.journal.page({ mode: 'test', book: null, clock: 'chain', from: '2026-11-01', to: null }, null, 10)
      ).entries.map(({ entry }) => entry);
      expect(late.map(({ kind, days }) => [kind, days.chain])).toEqual([
        ['period_closed', '2026-11-02'],
        ['deposit_seen', '2026-11-01'],
        ['deposit', '2026-11-01'],
        ['payment', '2026-11-01'],
      ]);
    }));

  it('seals the newest facts, even if a late one overtakes the closing', () =>
    inOffice(async (office) => {
      await office.pay(at('2026-10-30'));
      office.beforeClosing = () => office.pay(at('2026-10-31'), at('2026-11-02'));
      const closed = await office.periods(at('2026-11-02')).close('test', '2026-10', 'operator');
      expect(closed).toMatchObject({
        ok: true,
        value: {
          balances: {
            [`chain/${DEPOSIT_WALLETS}/ethereum/USDT`]: '20',
            [`recorded/${DEPOSIT_WALLETS}/ethereum/USDT`]: '10',
          },
        },
      });
      expect(await office.store.readStream('ledger-periods-test')).toHaveLength(2);
      const { sealed } = await office.balances.trialBalance('test', { day: '2026-10-31', clock: 'chain' });
      expect(sealed?.agrees).toBe(true);
    }));

  it('is closed once, after its end, with every month before it', () =>
    inOffice(async (office) => {
      await office.pay(at('2026-09-30'));
      const periods = office.periods(at('2026-10-31', '23:59:59'));
      expect(await periods.close('test', '2026-10', 'operator')).toMatchObject({
        ok: false,
        refusal: { param: 'period' },
      });
      expect(await periods.close('test', '2026-09', 'operator')).toMatchObject({ ok: true });
      for (const month of ['2026-09', '2026-08'])
        expect(await periods.close('test', month, 'operator')).toMatchObject({ ok: false });
      expect((await office.balances.periods('test')).map(({ period }) => period)).toEqual(['2026-09']);
      await office.runner.rebuild(['ledger']);
      await office.runner.ready();
      expect((await office.balances.periods('test')).map(({ period }) => period)).toEqual(['2026-09']);
    }));

  it('is seen to differ when a figure of the books was changed behind its back', () =>
    inOffice(async (office) => {
      await office.pay(at('2026-10-30'));
      await office.periods(at('2026-11-02')).close('test', '2026-10', 'operator');
      const rows = office.model.tables.get('ledger-balances@1')!;
      for (const [key, row] of rows) rows.set(key, { ...row, months: { '2026-10': ['11', '11'] } });
      expect(
        (await office.balances.trialBalance('test', { day: '2026-10-31', clock: 'recorded' })).sealed?.agrees,
      ).toBe(false);
    }));
});

describe('the settlement report', () => {
  it('adds up, page by page and day by day, to the difference of its balances', () =>
    inOffice(async (office) => {
      for (let day = 1; day <= 9; day += 1) await office.pay(at(`2026-10-0${day}`), at(`2026-10-0${day}`) + 86_400_000);
      const books = new MerchantLedger({
        balances: office.balances,
        journal: office.journal,
        cursorKey: new Uint8Array(32),
        servedRows: () => office.caughtUp(),
      });
      for (const clock of ['recorded', 'chain'] as const) {
        const range = { clock, from: '2026-10-03', to: '2026-10-07' };
        const totals = { payable: 0n, unapplied: 0n, 'refunds-reserved': 0n };
        const days = new Set<string>();
        let pages = 0;
        for (let cursor: string | null = ''; cursor !== null;) {
          const page = await books.settlement(OWNER, range, { cursor, pageSize: 3 });
          if (!page.ok) throw new Error(page.refusal.message);
          for (const { changed, entry } of page.value.lines) {
            days.add(entry.days[clock]);
            for (const part of ['payable', 'unapplied', 'refunds-reserved'] as const) totals[part] += changed[part];
          }
          const { opening, closing } = page.value;
          expect([formatAmount(opening[0]!.owed.payable), formatAmount(closing[0]!.owed.payable)]).toEqual(
            clock === 'chain' ? ['20.00', '70.00'] : ['10.00', '60.00'],
          );
          cursor = page.value.pagination.next_cursor;
          pages += 1;
        }
        expect([formatAmount(totals.payable), formatAmount(totals.unapplied)]).toEqual(['50.00', '0.00']);
        expect([...days].sort()).toEqual(['2026-10-03', '2026-10-04', '2026-10-05', '2026-10-06', '2026-10-07']);
        expect(pages).toBe(4);
      }
    }));

  it('accepts only its own cursors, and shows a merchant nothing of another', () =>
    inOffice(async (office) => {
      for (let day = 1; day <= 3; day += 1) await office.pay(at(`2026-10-0${day}`));
      const books = new MerchantLedger({
        balances: office.balances,
        journal: office.journal,
        cursorKey: new Uint8Array(32),
        servedRows: () => office.caughtUp(),
      });
      const range = { clock: 'recorded', from: null, to: null } as const;
      const first = await books.entries(OWNER, range, { cursor: '', pageSize: 2 });
      const cursor = first.ok ? first.value.pagination.next_cursor! : '';
      expect((await books.entries(OWNER, range, { cursor, pageSize: 50 })).ok).toBe(true);
      for (const [owner, other] of [
        [OWNER, { ...range, clock: 'chain' }],
        [{ ...OWNER, mode: 'live' }, range],
        [{ ...OWNER, merchantId: 'mer_b' as typeof MERCHANT_ID }, range],
      ] as const)
        expect(await books.entries(owner, other, { cursor, pageSize: 2 })).toMatchObject({
          ok: false,
          refusal: { param: 'cursor' },
        });
      expect(await books.settlement(OWNER, range, { cursor, pageSize: 2 })).toMatchObject({
        ok: false,
        refusal: { param: 'cursor' },
      });
      expect(await books.entries({ ...OWNER, mode: 'live' }, range, { cursor: '', pageSize: 2 })).toMatchObject({
        ok: true,
        value: { entries: [] },
      });
      expect(
        await books.balances({ ...OWNER, merchantId: 'mer_b' as typeof MERCHANT_ID }, { day: null, clock: 'chain' }),
      ).toEqual([]);
    }));
});

describe('the export', () => {
  const scope = { mode: 'test', book: null, clock: 'recorded', from: null, to: null } as const;
  const text = async (office: Office, format: 'csv' | 'jsonl'): Promise<string> => {
    let written = '';
    for await (const chunk of textOf(journalTable(office.journal, scope), format)) written += chunk;
    return written;
  };

  it('has one row per line, whose amounts add up to zero, with the evidence of the chain', () =>
    inOffice(async (office) => {
      for (let session = 0; session < 20; session += 1) await office.pay(at('2026-10-01') + session * 1000);
      const rows = (await text(office, 'csv'))
        .split('\r\n')
        .filter(Boolean)
        .map((row) => row.split(','));
      expect(rows[0]).toEqual(JOURNAL_COLUMNS);
      const cell = (row: readonly string[], name: string): string => row[JOURNAL_COLUMNS.indexOf(name)]!;
      expect(rows.slice(1)).toHaveLength(20 * 5);
      const amounts = rows.slice(1).map((row) => cell(row, 'amount'));
      expect(amounts.reduce((sum, amount) => sum + Number(amount), 0)).toBe(0);
      expect(amounts.filter((amount) => amount !== '').every((amount) => /^-?\d+\.\d{6}$/.test(amount))).toBe(true);
      const deposit = rows.find((row) => cell(row, 'kind') === 'deposit')!;
      expect(
        ['stream', 'network', 'tx_hash', 'log_index', 'block_number', 'block_hash', 'debit'].map((name) =>
          cell(deposit, name),
        ),
      ).toEqual([`session-${sessionIdOf(0)}`, ...['ethereum', '0x0', '0', '100', '0xblock', '10.000000']]);
      const lines = (await text(office, 'jsonl'))
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines).toHaveLength(20 * 5);
      expect(Object.keys(lines[0]!)).toEqual(JOURNAL_COLUMNS);
    }));

  it('reads no further ahead than it is written, however long the journal is', async () => {
    let read = 0;
    const model = {
      get: async () => ({ entries: 10_000_000 }),
      getMany: async (_table: string, keys: readonly string[]) => {
        read += keys.length;
        const days = { recorded: '2026-10-01', chain: '2026-10-01' };
        return keys.map((key) => ({
          number: Number(key.split('/')[1]),
          kind: 'deposit',
          mode: 'test',
          recordedAtMs: 0,
          days,
          lines: [],
        }));
      },
    };
    const chunks = textOf(journalTable(new LedgerJournal(model as unknown as ReadModel), scope), 'jsonl');
    let lines = 0;
    for await (const chunk of chunks) {
      lines += chunk.split('\n').length - 1;
      expect(read - lines).toBeLessThanOrEqual(200);
      if (lines >= 2_000) break;
    }
    expect(lines).toBeLessThan(2_500);
  });

  it('gives a spreadsheet no formula, and loses nothing of a text', () =>
    inOffice(async (office) => {
      await office.pay(at('2026-10-01'), at('2026-10-01'), '=HYPERLINK("http://evil.example";"pay")');
      expect(await text(office, 'csv')).toContain(`,"'=HYPERLINK(""http://evil.example"";""pay"")",`);
      expect(await text(office, 'jsonl')).toContain(JSON.stringify('=HYPERLINK("http://evil.example";"pay")'));
      for (const start of ['=', '+', '-', '@', '\t', '\r', ' =', '＝', '|', '%'])
        expect(csvCell(`${start}cmd`)).toMatch(/^"?'/);
      expect([csvCell('-10.5'), csvCell(-1), csvCell('order, "7"'), csvCell(null)]).toEqual([
        '-10.5',
        '-1',
        '"order, ""7"""',
        '',
      ]);
    }));
});

describe('the running check', () => {
  it('finds balances and sums that do not add up, reports them once, and shows when they do again', () =>
    inOffice(async (office) => {
      await office.pay(at('2026-10-01'));
      const told: object[] = [];
      const check = new CheckLedger({
        readModel: office.model,
        onImbalance: (imbalance) => told.push(imbalance),
        onError: (error) => told.push({ error }),
      });
      await check.check();
      expect([check.imbalances(), told]).toEqual([[{ mode: 'test', coin: 'USDT', amount: 0 }], []]);
      const rows = office.model.tables.get('ledger-balances@1')!;
      const [key, row] = [...rows][0]!;
      rows.set(key, { ...row, balance: '9.999999999999999999' });
      await check.check();
      await check.check();
      expect(told).toEqual([{ mode: 'test', network: 'ethereum', coin: 'USDT', difference: '-0.000000000000000001' }]);
      expect(check.imbalances()[0]!.amount).toBeGreaterThan(0);
      rows.set(key, row);
      await check.check();
      expect(check.imbalances()).toEqual([{ mode: 'test', coin: 'USDT', amount: 0 }]);
    }));
});
