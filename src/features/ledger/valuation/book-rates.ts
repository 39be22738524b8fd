import { dayAfter, startOfDaySec } from '../../../domain/values/calendar.ts';
import { shownDecimals } from '../../../domain/money/currencies.ts';
import type { BookRate } from '../../../domain/events/book-rate-events.ts';
import { BOOKED_COINS } from '../../../domain/money/ledger.ts';
import { absolute, formatAmount, parseAmount, SCALE } from '../../../domain/money/money.ts';
import { BOOK_RATES_STREAM } from '../../../domain/values/streams.ts';
import type { EventStore } from '../../../ports/event-log/event-store.ts';
import { must } from '../../../domain/values/must.ts';
import { dataOf } from '../../../runtime/commands/codec.ts';

/** An older rate says little about what a coin is worth. */
const MAX_RATE_AGE_SEC = 7 * 86_400;
const PAGE = 500;

export interface UsedRate {
  readonly atSec: number;
  readonly rate: string;
  readonly units: bigint;
  readonly source: string;
  /** Id of the event that recorded it. */
  readonly event: string;
}

/** No recorded rate can value a line. The message names the coin and the time. */
export class RateMissing extends Error {
  override readonly name = 'RateMissing';
}

/** Recorded rates of coins in one currency. */
export class BookRates {
  readonly currency: string;
  /** By coin, oldest first. */
  readonly #rates: ReadonlyMap<string, readonly UsedRate[]>;

  constructor(currency: string, rates: ReadonlyMap<string, readonly UsedRate[]>) {
    this.currency = currency;
    this.#rates = rates;
  }

  static async read(store: Pick<EventStore, 'readStream'>, currency: string): Promise<BookRates> {
    const found = new Map<string, UsedRate[]>();
    for (let from = 0; ; from += PAGE) {
      const events = await store.readStream(BOOK_RATES_STREAM, { from, limit: PAGE });
      for (const event of events) {
        const { currency: of, source, rates } = dataOf(event, 'BookRatesRecorded');
        if (of !== currency) continue;
        for (const { coin, atSec, rate } of rates) {
          const ofCoin = found.get(coin) ?? [];
          found.set(coin, ofCoin);
          ofCoin.push({ atSec, rate, units: must(parseAmount(rate)), source, event: event.id });
        }
      }
      if (events.length < PAGE) break;
    }
    for (const rates of found.values()) rates.sort((one, other) => one.atSec - other.atSec);
    return new BookRates(currency, found);
  }

  /** Currencies with recorded rates, in the order in which they were first recorded. */
  static async currencies(store: Pick<EventStore, 'readStream'>): Promise<string[]> {
    const found = new Set<string>();
    for (let from = 0; ; from += PAGE) {
      const events = await store.readStream(BOOK_RATES_STREAM, { from, limit: PAGE });
      for (const event of events) found.add(dataOf(event, 'BookRatesRecorded').currency);
      if (events.length < PAGE) return [...found];
    }
  }

  has(coin: string, atSec: number): boolean {
    return (this.#rates.get(coin) ?? []).some((rate) => rate.atSec === atSec);
  }

  /** Whether any rate is recorded for the UTC day. */
  hasDay(coin: string, day: string): boolean {
    const newest = this.newest(coin, startOfDaySec(dayAfter(day)) - 1);
    return newest !== null && newest.atSec >= startOfDaySec(day);
  }

  /** Number and time range of the coin's rates; null without any. */
  summary(coin: string): { coin: string; rates: number; first_at: number; last_at: number; last_rate: string } | null {
    const rates = this.#rates.get(coin) ?? [];
    const [first, last] = [rates[0], rates.at(-1)];
    return first && last
      ? { coin, rates: rates.length, first_at: first.atSec, last_at: last.atSec, last_rate: last.rate }
      : null;
  }

  /** The newest rate at that time, however old; null without any. */
  newest(coin: string, atSec: number): UsedRate | null {
    const rates = this.#rates.get(coin) ?? [];
    let [low, high] = [0, rates.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (must(rates[middle]).atSec <= atSec) low = middle + 1;
      else high = middle;
    }
    return rates[low - 1] ?? null;
  }

  /** The newest rate at that time unless it is too old. Throws `RateMissing`. */
  at(coin: string, atSec: number): UsedRate {
    const rate = this.newest(coin, atSec);
    const when = new Date(atSec * 1000).toISOString();
    if (!rate)
      throw new RateMissing(
        `there is no rate of ${coin} in ${this.currency} at or before ${when}: \`quittance ledger record-rates\``,
      );
    if (atSec - rate.atSec > MAX_RATE_AGE_SEC)
      throw new RateMissing(
        `the newest rate of ${coin} in ${this.currency} before ${when} is from ${new Date(rate.atSec * 1000).toISOString()}, which is too old`,
      );
    return rate;
  }

  /**
   * The value of the units in 10^-18 units of the currency, rounded half away from zero to the currency's minor unit.
   */
  value(units: bigint, { units: rate }: Pick<UsedRate, 'units'>): bigint {
    const step = 10n ** BigInt(2 * SCALE - shownDecimals(this.currency));
    const size = absolute(units) * rate;
    const steps = (2n * size + step) / (2n * step);
    const value = steps * 10n ** BigInt(SCALE - shownDecimals(this.currency));
    return units < 0n ? -value : value;
  }

  text(value: bigint): string {
    return formatAmount(value, shownDecimals(this.currency));
  }
}

const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?Z)?$/;

/** Parses lines of `when,coin,rate` with an optional header. A day means its start in UTC. Errors name their line. */
export function parseRates(text: string): readonly BookRate[] | string {
  const lines = text.split(/\r?\n/).flatMap((line, index) => (line.trim() === '' ? [] : [{ line, number: index + 1 }]));
  const rates: BookRate[] = [];
  for (const { line, number } of lines) {
    const [when = '', coin = '', rate = '', ...more] = line.split(',').map((cell) => cell.trim());
    if (number === 1 && when === 'when') continue;
    const units = parseAmount(rate);
    const atMs = MOMENT.test(when) ? Date.parse(when) : Number.NaN;
    if (more.length > 0 || Number.isNaN(atMs))
      return `line ${number} must be when,coin,rate, with a day such as 2026-10-31 or a moment such as 2026-10-31T16:00:00Z`;
    if (!BOOKED_COINS.includes(coin)) return `line ${number}: coin must be one of ${BOOKED_COINS.join(', ')}`;
    if (units === null || units === 0n)
      return `line ${number}: rate must be a decimal number above zero, the value of one ${coin}`;
    rates.push({ coin, atSec: atMs / 1000, rate });
  }
  const twice = rates.find(
    ({ coin, atSec }, index) => rates.findIndex((other) => other.coin === coin && other.atSec === atSec) !== index,
  );
  if (twice) return `${twice.coin} has two rates for ${new Date(twice.atSec * 1000).toISOString()}`;
  return rates.length > 0 ? rates : 'the file contains no rates';
}
