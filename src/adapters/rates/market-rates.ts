import type { RateLock, Valuation } from '../../domain/events/coin-events.ts';
import type { Coin } from '../../domain/money/money.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Rates } from '../../ports/rates/rates.ts';
import { judge, rateText, type Judgement } from './judge-quotes.ts';
import { QuoteSource, type OnServerTime, type SourceStatus } from './quote-source.ts';
import { ONE, otherCoin, type RateProvider } from './provider.ts';
import { within } from '../../runtime/util/within.ts';

export interface MarketRatesOptions {
  readonly providers: readonly RateProvider[];
  readonly clock: Clock;
  /** Older quotes are not used. */
  readonly maxAgeMs: number;
  /** Default: a tenth of `maxAgeMs`, at most 30 s. */
  readonly refreshEveryMs?: number;
  /** How long a first request waits for the providers. Default 2,500. */
  readonly firstWaitMs?: number;
  readonly onProviderFailure?: (provider: string, message: string) => void;
  readonly onServerTime?: OnServerTime;
}

const DEFAULT_REFRESH_MS = 30_000;
const DEFAULT_FIRST_WAIT_MS = 2_500;
/** Distinct pairs whose conclusion is cached until the next quotes: at most 155 currencies and 2 coins. */
const MAX_CONCLUSIONS = 1_000;

interface Conclusion {
  readonly judgement: Judgement;
  readonly generation: number;
  readonly concludedAtMs: number;
  /** When the oldest quote behind it expires. */
  readonly validUntilMs: number;
}

/** Within this time the same pair is answered from the same conclusion, with ages recomputed. */
const CONCLUSION_LIFETIME_MS = 1_000;

/**
 * Rates from several providers. Quotes are refreshed in the background and judged on request, so a request waits only
 * if nobody has a fresh quote of the pair.
 */
export class MarketRates implements Rates {
  readonly #sources: readonly QuoteSource[];
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #firstWaitMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #conclusions = new Map<string, Conclusion>();

  constructor(options: MarketRatesOptions) {
    this.#clock = options.clock;
    this.#maxAgeMs = options.maxAgeMs;
    this.#firstWaitMs = options.firstWaitMs ?? DEFAULT_FIRST_WAIT_MS;
    this.#sources = options.providers.map(
      (provider) =>
        new QuoteSource(provider, options.clock, options.onProviderFailure ?? (() => undefined), options.onServerTime),
    );
    this.#refreshAll();
    this.#timer = setInterval(
      () => this.#refreshAll(),
      options.refreshEveryMs ?? Math.min(DEFAULT_REFRESH_MS, options.maxAgeMs / 10),
    );
    this.#timer.unref();
  }

  async lock(currency: string, coin: Coin, nowMs: number): Promise<RateLock | null> {
    if (
      !this.#hasFreshQuote(currency, coin, nowMs) &&
      this.#sources.some((source) => !source.isFresh(nowMs, this.#maxAgeMs))
    )
      await this.#refreshWithin();
    // The wait took time, so the quotes are judged at the current time.
    const judgedAtMs = Math.max(nowMs, this.#clock.nowMs());
    const { rate, rule, quotes } = this.#conclude(currency, coin, judgedAtMs);
    return rate === null ? null : { rate, lockedAtSec: toSec(judgedAtMs), rule, quotes };
  }

  mayQuote(currency: string): boolean {
    return this.#sources.some(({ provider: { currencies } }) => currencies === undefined || currencies.has(currency));
  }

  valuation(currency: string, coin: Coin, nowMs: number): Valuation | null {
    const { rate, quotes } = this.#conclude(currency, coin, nowMs);
    if (rate === null) return null;
    const usedAtMs = quotes.flatMap((quote) => (quote.used && quote.quotedAtMs !== null ? [quote.quotedAtMs] : []));
    return { currency, coin, rate, quotedAtMs: Math.min(nowMs, ...usedAtMs) };
  }

  /** For metrics and readiness. */
  status(): SourceStatus[] {
    return this.#sources.map((source) => source.status(this.#clock.nowMs()));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#sources.map((source) => source.close()));
  }

  #refreshAll(): void {
    for (const source of this.#sources) void source.refresh();
  }

  async #refreshWithin(): Promise<void> {
    const refreshed = Promise.all(this.#sources.map((source) => source.refresh()));
    await within(this.#firstWaitMs, refreshed, () => undefined);
  }

  #hasFreshQuote(currency: string, coin: Coin, nowMs: number): boolean {
    return this.#sources.some((source) => {
      const { quote } = source.testimony(currency, coin);
      return quote !== null && (quote.quotedAtMs === null || nowMs - quote.quotedAtMs <= this.#maxAgeMs);
    });
  }

  /** Judging takes about ten decimal divisions; a burst of orders in one currency shares one conclusion. */
  #conclude(currency: string, coin: Coin, nowMs: number): Judgement {
    const key = `${currency}>${coin}`;
    const generation = this.#sources.reduce((sum, source) => sum + source.generation, 0);
    const known = this.#conclusions.get(key);
    const sinceMs = known === undefined ? Infinity : nowMs - known.concludedAtMs;
    if (
      known?.generation === generation &&
      sinceMs >= 0 &&
      sinceMs < CONCLUSION_LIFETIME_MS &&
      nowMs <= known.validUntilMs
    )
      return aged(known.judgement, nowMs);
    const judgement = this.#judgeAnew(currency, coin, nowMs);
    if (this.#conclusions.size >= MAX_CONCLUSIONS) this.#conclusions.clear();
    const quotedAtMs = judgement.quotes.flatMap((quote) =>
      quote.used && quote.quotedAtMs !== null ? [quote.quotedAtMs] : [],
    );
    this.#conclusions.set(key, {
      judgement,
      generation,
      concludedAtMs: nowMs,
      validUntilMs: Math.min(...quotedAtMs) + this.#maxAgeMs,
    });
    return judgement;
  }

  /** Judges the coin's own quotes; without a usable one, the other coin's quotes and the market between the two. */
  #judgeAnew(currency: string, coin: Coin, nowMs: number): Judgement {
    const direct = this.#judgePair(currency, coin, nowMs);
    const bridge = otherCoin(coin);
    if (direct.rate !== null || currency === bridge || !onlyAssumed(direct)) return direct;
    const first = this.#judgePair(currency, bridge, nowMs);
    const second = this.#judgePair(bridge, coin, nowMs);
    if (first.rate === null || second.rate === null) return direct;
    const label = (judgement: Judgement, pair: string) =>
      judgement.quotes.map((quote) => ({ ...quote, provider: `${quote.provider} ${pair}` }));
    return {
      rate: rateText(ONE.times(first.rate).times(second.rate)),
      rule: `${direct.rule} via=${bridge}`,
      quotes: [...direct.quotes, ...label(first, `${currency}-${bridge}`), ...label(second, `${bridge}-${coin}`)],
    };
  }

  #judgePair(currency: string, coin: Coin, nowMs: number): Judgement {
    return judge(
      currency,
      this.#sources.map((source) => source.testimony(currency, coin)),
      nowMs,
      this.#maxAgeMs,
    );
  }
}

/** The quotes do not contradict each other: no market quotes the pair, or only at an assumed par. */
const onlyAssumed = (judgement: Judgement): boolean =>
  judgement.quotes.every(
    (quote) =>
      quote.reason === 'assumes_par' ||
      quote.reason === 'not_quoted' ||
      quote.reason === 'no_answer' ||
      quote.reason === 'stale',
  );

function aged(judgement: Judgement, nowMs: number): Judgement {
  const quotes = judgement.quotes.map((quote) =>
    quote.quotedAtMs === null ? quote : { ...quote, ageMs: Math.max(0, nowMs - quote.quotedAtMs) },
  );
  return { ...judgement, quotes };
}
