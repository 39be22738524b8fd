import { dayAfter, startOfDaySec } from '../../../domain/values/calendar.ts';
import { absolute } from '../../../domain/money/money.ts';
import { toSec } from '../../../ports/clock.ts';
import type { EventStore } from '../../../ports/event-log/event-store.ts';
import type { AsOf } from '../balances.ts';
import { BookRates, RateMissing, type UsedRate } from './book-rates.ts';
import { isRevalued } from './valued-journal.ts';

/** The value of balances at a moment, at the rates recorded for it. */
export interface Worth {
  readonly currency: string;
  readonly atSec: number;
  /**
   * Absolute value. Null for income, expenses and equity, which keep their booked value, and where no rate is recorded.
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

/** The end of the day, or now if that is earlier. */
export function momentOf({ day, throughMs }: Pick<AsOf, 'day' | 'throughMs'>, nowMs: number): number {
  const endSec =
    throughMs === undefined ? (day === null ? Infinity : startOfDaySec(dayAfter(day)) - 1) : toSec(throughMs);
  return Math.min(endSec, toSec(nowMs));
}

/** The absolute value of an amount at a moment and the rate used; null where no rate is recorded. */
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
