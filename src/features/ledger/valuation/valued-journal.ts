import { lastDayOf, monthOf, nextMonth } from '../../../domain/values/calendar.ts';
import { signedAmountOf } from '../../../domain/money/money.ts';
import { toSec } from '../../../ports/clock.ts';
import type { EntryRow } from '../../../../projections/ledger/rows.ts';
import type { LedgerJournal, JournalScope } from '../journal.ts';
import type { BookRates, UsedRate } from './book-rates.ts';

/** Accounts that hold only values, never coin. */
const ROUNDING = 'expenses:rounding';
const EXCHANGE_DIFFERENCES = 'income:exchange-differences';

/** A line of the books in the functional currency. */
export interface ValuedLine {
  readonly account: string;
  /** Null for rounding, which has no coin. */
  readonly network: string | null;
  readonly coin: string | null;
  /** 10^-18 units of the coin; null if only the value changes. */
  readonly units: bigint | null;
  /** 10^-18 units of the currency; positive is a debit. */
  readonly value: bigint;
  /** Null for lines derived from others. */
  readonly rate: UsedRate | null;
}

/** Its lines add up to zero. */
export interface ValuedEntry {
  readonly kind: string;
  /** Day of the books, by recording time. */
  readonly day: string;
  /** Null for a revaluation, which has no event. */
  readonly entry: EntryRow | null;
  readonly lines: readonly ValuedLine[];
}

/**
 * Balances that are carried at the current rate. Income, expenses and equity keep the value at which they were booked.
 */
export const isRevalued = (account: string): boolean =>
  account.startsWith('assets:') || account.startsWith('liabilities:');

/**
 * The journal from its first entry, with every line valued at the newest rate at its time (block time, otherwise
 * recording time) and every balance revalued at the end of each month. `through`: the last day of the books to value.
 */
export async function* valuedJournal(
  journal: LedgerJournal,
  { mode, to }: Pick<JournalScope, 'mode' | 'to'>,
  rates: BookRates,
  { through, today }: { readonly through: number; readonly today: string },
): AsyncGenerator<ValuedEntry> {
  const held = new Held(rates);
  let month: string | null = null;
  for await (const chunk of journal.walk({ mode, book: null, clock: 'recorded', from: null, to })) {
    for (const { entry } of chunk) {
      if (entry.number > through || entry.lines.length === 0) continue;
      const own = monthOf(entry.days.recorded);
      for (month ??= own; month < own; month = nextMonth(month)) yield* given(held.revalued(month));
      const valued = valuedEntry(entry, rates);
      held.take(valued);
      yield valued;
    }
  }
  // A month is revalued once it is over.
  for (
    const end = to ?? today;
    month !== null && lastDayOf(month) <= end && lastDayOf(month) < today;
    month = nextMonth(month)
  )
    yield* given(held.revalued(month));
}

const given = <Value>(value: Value | null): Value[] => (value === null ? [] : [value]);

function valuedEntry(entry: EntryRow, rates: BookRates): ValuedEntry {
  const atSec = entry.chainTimeSec ?? toSec(entry.recordedAtMs);
  const lines: ValuedLine[] = entry.lines.map(({ account, network, coin, amount }) => {
    const units = signedAmountOf(amount);
    const rate = rates.at(coin, atSec);
    return { account, network, coin, units, rate, value: rates.value(units, rate) };
  });
  const rest = lines.reduce((sum, { value }) => sum + value, 0n);
  const rounding: ValuedLine = { account: ROUNDING, network: null, coin: null, units: null, rate: null, value: -rest };
  return { kind: entry.kind, day: entry.days.recorded, entry, lines: rest === 0n ? lines : [...lines, rounding] };
}

interface Balance {
  readonly account: string;
  readonly network: string;
  readonly coin: string;
  units: bigint;
  value: bigint;
}

class Held {
  readonly #rates: BookRates;
  readonly #balances = new Map<string, Balance>();

  constructor(rates: BookRates) {
    this.#rates = rates;
  }

  take({ lines }: ValuedEntry): void {
    for (const { account, network, coin, units, value } of lines) {
      if (network === null || coin === null || units === null || !isRevalued(account)) continue;
      const key = `${account}/${network}/${coin}`;
      const balance = this.#balances.get(key) ?? { account, network, coin, units: 0n, value: 0n };
      this.#balances.set(key, balance);
      balance.units += units;
      balance.value += value;
    }
  }

  /** The revaluation entry of the month; null if nothing changes. */
  revalued(month: string): ValuedEntry | null {
    const day = lastDayOf(month);
    const endSec = Date.parse(day) / 1000 + 86_399;
    const lines: ValuedLine[] = [];
    for (const balance of this.#balances.values()) {
      const rate = balance.units === 0n ? null : this.#rates.at(balance.coin, endSec);
      const difference = (rate ? this.#rates.value(balance.units, rate) : 0n) - balance.value;
      if (difference === 0n) continue;
      balance.value += difference;
      const shared = { network: balance.network, coin: balance.coin, units: null, rate };
      lines.push(
        { ...shared, account: balance.account, value: difference },
        { ...shared, account: EXCHANGE_DIFFERENCES, value: -difference },
      );
    }
    return lines.length === 0 ? null : { kind: 'revaluation', day, entry: null, lines };
  }
}
