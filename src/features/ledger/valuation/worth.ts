import { dayAfter, startOfDaySec } from '../../../domain/calendar.ts';
import { absolute } from '../../../domain/money.ts';
import { toSec } from '../../../ports/clock.ts';
import type { EventStore } from '../../../ports/event-store.ts';
import type { AsOf } from '../balances.ts';
import { BookRates, RateMissing, type UsedRate } from './book-rates.ts';
import { isRevalued } from './valued-journal.ts';

/** What balances are worth at a moment, at the recorded rates of then. */
export interface Worth {
  readonly currency: string;
  readonly atSec: number;
  /**
   * Without a sign; null for income, expenses and equity, which keep the value of when they came to be, and where no
   * rate says it.
   */
  of(balance: { readonly account: string; readonly coin: string; readonly units: bigint }): string | null;
}

export async function worthAt(
  store: Pick<EventStore, 'readStream'>,
  currency: string,
  asOf: AsOf,
  nowMs: number,
): Promise<Worth> {
  const rates = await BookRates.read(store, currency);
  const atSec = momentOf(asOf, nowMs);
  return {
    currency,
    atSec,
    of: ({ account, coin, units }) =>
      isRevalued(account) ? (valued(rates, { coin, units }, atSec)?.worth ?? null) : null,
  };
}

/** The end of the day, or now if that is sooner. */
export function momentOf({ day, throughMs }: Pick<AsOf, 'day' | 'throughMs'>, nowMs: number): number {
  const endSec =
    throughMs === undefined ? (day === null ? Infinity : startOfDaySec(dayAfter(day)) - 1) : toSec(throughMs);
  return Math.min(endSec, toSec(nowMs));
}

/** What an amount was worth at a moment, without a sign, and by which rate; null where no rate says it. */
export function valued(
  rates: BookRates,
  { coin, units }: { readonly coin: string; readonly units: bigint },
  atSec: number,
): { readonly worth: string; readonly rate: UsedRate } | null {
  try {
    const rate = rates.at(coin, atSec);
    return { worth: rates.text(rates.value(absolute(units), rate)), rate };
  } catch (error) {
    if (error instanceof RateMissing) return null;
    throw error;
  }
}
