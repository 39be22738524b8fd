import { dayAfter, dayBefore, dayOf, lastDayOf, monthOf } from '../../domain/values/calendar.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { LedgerClock } from '../../domain/money/ledger.ts';
import { formatAmount, signedAmountOf } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { ReadModel, Table } from '../../ports/read-model/read-model.ts';
import { LedgerJournal } from './journal.ts';
import {
  balanceKey,
  daysKey,
  EMPTY_MODE,
  figureKey,
  LEDGER_BALANCES_TABLE,
  LEDGER_COUNTS_TABLE,
  LEDGER_DAYS_TABLE,
  LEDGER_PERIODS_TABLE,
  LEDGER_SUMS_TABLE,
  periodKey,
  type BalanceRow,
  type EntryRow,
  type ModeRow,
  type Moved,
  type PeriodRow,
  LEDGER_MODES_TABLE,
} from '../../../projections/ledger/rows.ts';
import { must } from '../../domain/values/must.ts';

/** The balance of an account in one coin on one network; debits are positive. */
export interface AccountBalance {
  readonly account: string;
  readonly network: Network;
  readonly coin: string;
  readonly units: bigint;
}

/** The end of a UTC day by a clock, or a moment on the following day. Without a day: now. */
export interface AsOf {
  readonly day: string | null;
  readonly clock: LedgerClock;
  /** Unix milliseconds, inclusive. */
  readonly throughMs?: number;
}

/** Converts a moment as requested. The last moment of a day means that day. */
export function asOfMoment(throughMs: number, clock: LedgerClock): AsOf {
  const day = dayOf(throughMs / 1000);
  return dayOf((throughMs + 1) / 1000) === day ? { day: dayBefore(day), clock, throughMs } : { day, clock };
}

export interface TrialBalance {
  readonly mode: Mode;
  readonly asOf: AsOf;
  /** Number of entries behind it. */
  readonly entries: number;
  readonly balances: readonly AccountBalance[];
  /** By network and coin; each must be zero. */
  readonly sums: readonly { readonly network: Network; readonly coin: string; readonly units: bigint }[];
  /** If the day ends a closed period: the event that sealed it, and whether the books still agree with it. */
  readonly sealed: { readonly period: string; readonly entry: string; readonly agrees: boolean } | null;
}

const SCAN_PAGE = 2_000;

/** Changes after a day up to a moment on the next one. */
interface SinceDay {
  readonly entries: number;
  /** 10^-18 units by account, network and coin. */
  readonly moved: ReadonlyMap<string, bigint>;
}

/** Balances at any day, by either clock. */
export class LedgerBalances {
  readonly #readModel: Pick<ReadModel, 'get' | 'getMany' | 'scan'>;
  readonly #journal: LedgerJournal;

  constructor(readModel: Pick<ReadModel, 'get' | 'getMany' | 'scan'>) {
    this.#readModel = readModel;
    this.#journal = new LedgerJournal(readModel);
  }

  async modeRow(mode: Mode): Promise<ModeRow> {
    return (await this.#readModel.get(LEDGER_MODES_TABLE, mode)) ?? EMPTY_MODE;
  }

  /** Coins that entries moved, once per network. */
  async coins(mode: Mode): Promise<string[]> {
    const found: string[] = [];
    for await (const rows of this.#pages(LEDGER_SUMS_TABLE, `${mode}/`)) found.push(...rows.map(({ coin }) => coin));
    return found;
  }

  async period(mode: Mode, period: string): Promise<PeriodRow | null> {
    return this.#readModel.get(LEDGER_PERIODS_TABLE, periodKey(mode, period));
  }

  /** Closed periods, oldest first. */
  async periods(mode: Mode): Promise<PeriodRow[]> {
    const found: PeriodRow[] = [];
    for await (const rows of this.#pages(LEDGER_PERIODS_TABLE, `${mode}/`)) found.push(...rows);
    return found;
  }

  /** Non-zero balances of the accounts whose name starts with `accounts`, ordered by name. */
  async balances(mode: Mode, asOf: AsOf, accounts = ''): Promise<AccountBalance[]> {
    return this.#balances(mode, asOf, await this.#sinceDay(mode, asOf), accounts);
  }

  async #balances(mode: Mode, { day, clock }: AsOf, { moved }: SinceDay, accounts: string): Promise<AccountBalance[]> {
    const found: AccountBalance[] = [];
    for await (const rows of this.#pages(LEDGER_BALANCES_TABLE, `${mode}/${accounts}`)) {
      const partial = await this.#withinMonth(rows, day, clock);
      rows.forEach((row, index) => {
        const key = balanceKey(mode, row.account, row.network, row.coin);
        const units =
          day === null
            ? signedAmountOf(row.balance)
            : wholeMonths(row, day, clock) + must(partial[index]) + (moved.get(key) ?? 0n);
        if (units !== 0n) found.push({ account: row.account, network: row.network, coin: row.coin, units });
      });
    }
    return found;
  }

  async trialBalance(mode: Mode, asOf: AsOf): Promise<TrialBalance> {
    const since = await this.#sinceDay(mode, asOf);
    const entries = await this.#entries(mode, asOf, since);
    const balances = await this.#balances(mode, asOf, since, '');
    const sums = new Map<string, TrialBalance['sums'][number]>();
    for (const { network, coin, units } of balances) {
      const key = `${network}/${coin}`;
      sums.set(key, { network, coin, units: (sums.get(key)?.units ?? 0n) + units });
    }
    return {
      mode,
      asOf,
      entries,
      balances,
      sums: [...sums.values()],
      sealed: await this.#sealed(mode, asOf, balances),
    };
  }

  /** The figures that a closing of `month` records: every balance at its end, by both clocks. */
  async figures(mode: Mode, month: string): Promise<Record<string, string>> {
    const day = lastDayOf(month);
    const figures: Record<string, string> = {};
    for (const clock of ['recorded', 'chain'] as const) {
      for (const { account, network, coin, units } of await this.balances(mode, { day, clock })) {
        figures[figureKey(clock, account, network, coin)] = formatAmount(units, 0);
      }
    }
    return figures;
  }

  async #sealed(
    mode: Mode,
    { day, clock, throughMs }: AsOf,
    balances: readonly AccountBalance[],
  ): Promise<TrialBalance['sealed']> {
    if (day === null || throughMs !== undefined || day !== lastDayOf(monthOf(day))) return null;
    const period = await this.period(mode, monthOf(day));
    if (!period) return null;
    const sealed = Object.entries(period.balances).filter(([key]) => key.startsWith(`${clock}/`));
    const now = new Map(
      balances.map(({ account, network, coin, units }) => [
        figureKey(clock, account, network, coin),
        formatAmount(units, 0),
      ]),
    );
    const agrees = sealed.length === now.size && sealed.every(([key, figure]) => now.get(key) === figure);
    return { period: period.period, entry: period.entry, agrees };
  }

  async #entries(mode: Mode, { day, clock }: AsOf, since: SinceDay): Promise<number> {
    if (day === null) return (await this.modeRow(mode)).entries;
    const place = clock === 'recorded' ? 0 : 1;
    let { entries } = since;
    for await (const page of rowPages(this.#readModel, LEDGER_COUNTS_TABLE, { prefix: `${mode}/`, limit: SCAN_PAGE }))
      for (const { key, row } of page)
        for (const [date, counts] of Object.entries(row.days))
          if (`${key.slice(mode.length + 1)}-${date}` <= day) entries += counts[place];
    return entries;
  }

  /**
   * Changes after the day up to the moment. A late fact of a closed month counts from the start of the day that it was
   * moved to.
   */
  async #sinceDay(mode: Mode, { day, clock, throughMs }: AsOf): Promise<SinceDay> {
    const moved = new Map<string, bigint>();
    let entries = 0;
    if (day === null || throughMs === undefined) return { entries, moved };
    const within = dayAfter(day);
    for await (const chunk of this.#journal.walk({ mode, book: null, clock, from: within, to: within }))
      for (const { entry } of chunk) {
        if (timeOf(entry, clock) > throughMs) continue;
        entries += 1;
        for (const { account, network, coin, amount } of entry.lines) {
          const key = balanceKey(mode, account, network, coin);
          moved.set(key, (moved.get(key) ?? 0n) + signedAmountOf(amount));
        }
      }
    return { entries, moved };
  }

  /** Changes from the first of the month to the day; none if the day is the month's last. */
  async #withinMonth(rows: readonly BalanceRow[], day: string | null, clock: LedgerClock): Promise<bigint[]> {
    if (day === null || day === lastDayOf(monthOf(day))) return rows.map(() => 0n);
    const month = monthOf(day);
    const date = day.slice(month.length + 1);
    const keys = rows.map(({ mode, account, network, coin }) =>
      daysKey(balanceKey(mode, account, network, coin), month),
    );
    const found = await this.#readModel.getMany(LEDGER_DAYS_TABLE, keys);
    return found.map((row) =>
      sumOf(
        Object.entries(row?.days ?? {}).filter(([each]) => each <= date),
        clock,
      ),
    );
  }

  async *#pages<Kept extends object>(table: Table<Kept>, prefix: string): AsyncGenerator<Kept[]> {
    for await (const page of rowPages(this.#readModel, table, { prefix, limit: SCAN_PAGE }))
      yield page.map(({ row }) => row);
  }
}

function timeOf({ recordedAtMs, chainTimeSec, days }: EntryRow, clock: LedgerClock): number {
  const ownMs = clock === 'chain' && chainTimeSec !== undefined ? chainTimeSec * 1000 : recordedAtMs;
  return dayOf(ownMs / 1000) === days[clock] ? ownMs : Date.parse(days[clock]);
}

function wholeMonths({ months }: BalanceRow, day: string, clock: LedgerClock): bigint {
  const month = monthOf(day);
  const isWhole = day === lastDayOf(month);
  return sumOf(
    Object.entries(months).filter(([each]) => (isWhole ? each <= month : each < month)),
    clock,
  );
}

const sumOf = (moved: readonly (readonly [string, Moved])[], clock: LedgerClock): bigint =>
  moved.reduce((sum, [, [recorded, chain]]) => sum + signedAmountOf(clock === 'recorded' ? recorded : chain), 0n);
