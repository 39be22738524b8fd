import { dayAfter, dayBefore, startOfDaySec } from '../../../domain/values/calendar.ts';
import type { BookRate } from '../../../domain/events/book-rate-events.ts';
import { parseAmount } from '../../../domain/money/money.ts';
import { toSec } from '../../../ports/clock.ts';
import type { DailyRates } from '../../../ports/rates/daily-rates.ts';
import type { Log } from '../../../ports/log.ts';
import { Recurring } from '../../../runtime/util/recurring.ts';
import type { BookedCoins } from './booked-coins.ts';
import { BookRates } from './book-rates.ts';
import { recordRates, type RecordRatesDeps } from './record-rates.ts';
import { must } from '../../../domain/values/must.ts';

export interface RecordDailyDeps extends RecordRatesDeps {
  readonly currency: string;
  /** The first source with a rate for the day is used. */
  readonly sources: readonly DailyRates[];
  readonly booked: () => Promise<BookedCoins | null>;
  readonly log: Log;
  readonly everyMs: number;
}

/** A day on which a coin has no rate although sources should have one by now. */
export interface MissingRate {
  readonly coin: string;
  readonly day: string;
}

/** How far back sources keep daily rates. */
const MOST_DAYS = 365;
/** Sources need a few minutes to close a day. */
const SETTLE_SEC = 15 * 60;
const LATE_SEC = 6 * 3_600;
/** Largest change between two rates within a week. Beyond it a wrong digit is more likely than a market move. */
const MOST_CHANGE = 4n;
const WEEK_SEC = 7 * 86_400;

/**
 * Records what each coin in the books was worth at the start of every UTC day, from the day before the first entry on,
 * including missed days. A day without a source stays missing until somebody records it; rates are never interpolated.
 */
export class RecordDailyRates {
  readonly #deps: RecordDailyDeps;
  readonly #rounds: Recurring;
  readonly #closing = new AbortController();
  #missing: readonly MissingRate[] = [];

  constructor(deps: RecordDailyDeps) {
    this.#deps = deps;
    this.#rounds = new Recurring(
      () => this.round(),
      deps.everyMs,
      (error) => deps.log.warn({ err: error }, 'daily rates could not be recorded'),
    );
  }

  start(): void {
    this.#rounds.start();
  }

  close(): Promise<void> {
    this.#closing.abort();
    return this.#rounds.close();
  }

  /** Missing rates after the last round, oldest first. */
  missing(): readonly MissingRate[] {
    return this.#missing;
  }

  async round(): Promise<void> {
    const booked = await this.#deps.booked();
    const nowSec = toSec(this.#deps.clock.nowMs());
    const missing: MissingRate[] = [];
    for (const coin of booked?.coins ?? []) {
      const days = await this.#record(coin, daysFrom(must(booked).firstDay, nowSec));
      missing.push(...days.filter((day) => startOfDaySec(day) + LATE_SEC <= nowSec).map((day) => ({ coin, day })));
    }
    this.#missing = missing.toSorted((one, other) => one.day.localeCompare(other.day));
  }

  /** Returns the days that still have no rate. */
  async #record(coin: string, days: readonly string[]): Promise<string[]> {
    const { currency, sources, log } = this.#deps;
    let known = await BookRates.read(this.#deps.store, currency);
    let open = days.filter((day) => !known.hasDay(coin, day));
    for (const provider of sources) {
      if (open.length === 0 || this.#closing.signal.aborted) break;
      try {
        const said = await provider.rates(coin, currency, open, this.#closing.signal);
        const rates = open.flatMap((day) =>
          said.has(day) ? [{ coin, atSec: startOfDaySec(day), rate: must(said.get(day)) }] : [],
        );
        const likely = likelyOf(known, rates);
        if (likely.length < rates.length)
          log.error(
            { coin, source: provider.source, refused: rates.length - likely.length },
            'daily rates are implausible',
          );
        if (likely.length === 0) continue;
        const done = await recordRates(this.#deps, {
          currency,
          source: provider.source,
          rates: likely,
          actor: 'daily-rates',
        });
        if ('refused' in done) log.info({ coin, reason: done.refused }, 'daily rates were not recorded');
      } catch (error) {
        if (this.#closing.signal.aborted) break;
        log.warn({ err: error, coin, source: provider.source }, 'a source of daily rates is unavailable');
      }
      known = await BookRates.read(this.#deps.store, currency);
      open = open.filter((day) => !known.hasDay(coin, day));
    }
    return open;
  }
}

/**
 * Days from the one before the first entry (blocks are older than their entries) to today; only the newest if there are
 * too many.
 */
function daysFrom(firstDay: string, nowSec: number): string[] {
  const days: string[] = [];
  for (let day = dayBefore(firstDay); startOfDaySec(day) + SETTLE_SEC <= nowSec; day = dayAfter(day)) days.push(day);
  return days.slice(-MOST_DAYS);
}

/** Drops rates that differ too much from the newest rate of the week before, recorded or in this list. */
function likelyOf(known: BookRates, rates: readonly BookRate[]): BookRate[] {
  const likely: BookRate[] = [];
  for (const rate of rates) {
    const units = parseAmount(rate.rate);
    if (units === null || units === 0n) continue;
    const before = newestOf(known, rate, likely);
    if (before === null || (units <= before * MOST_CHANGE && before <= units * MOST_CHANGE)) likely.push(rate);
  }
  return likely;
}

/** In 10^-18 units of the currency. */
function newestOf(known: BookRates, { coin, atSec }: BookRate, likely: readonly BookRate[]): bigint | null {
  const recorded = known.newest(coin, atSec);
  const accepted = likely.map((rate) => ({ atSec: rate.atSec, units: must(parseAmount(rate.rate)) }));
  const [newest] = [...(recorded ? [recorded] : []), ...accepted].toSorted((one, other) => other.atSec - one.atSec);
  return newest && atSec - newest.atSec <= WEEK_SEC ? newest.units : null;
}
