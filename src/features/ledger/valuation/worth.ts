import { dayAfter, startOfDaySec } from '../../../domain/calendar.ts';
import { absolute } from '../../../domain/money.ts';
import { toSec } from '../../../ports/clock.ts';
import type { EventStore } from '../../../ports/event-store.ts';
import type { AsOf } from '../balances.ts';
import { BookRates, RateMissing } from './book-rates.ts';
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
  { day, throughMs }: AsOf,
  nowMs: number,
): Promise<Worth> {
  const rates = await BookRates.read(store, currency);
  const endSec =
    throughMs === undefined ? (day === null ? Infinity : startOfDaySec(dayAfter(day)) - 1) : toSec(throughMs);
  const atSec = Math.min(endSec, toSec(nowMs));
  return {
    currency,
    atSec,
    of: ({ account, coin, units }) => {
      if (!isRevalued(account)) return null;
      try {
        return rates.text(rates.value(absolute(units), rates.at(coin, atSec)));
      } catch (error) {
        if (error instanceof RateMissing) return null;
        throw error;
      }
    },
  };
}
