import { Decimal } from 'decimal.js';
import { COINS, SCALE, type Coin } from '../../domain/money/money.ts';
import { must } from '../../domain/values/must.ts';

/** One provider's quote: one unit of `currency` is `rate` units of `coin`. */
export interface Quote {
  readonly currency: string;
  readonly coin: Coin;
  readonly rate: Decimal;
  /** Null for a fixed rate, which is always current. */
  readonly quotedAtMs: number | null;
  /** Set if the provider's figure must not be used, such as an assumed peg. It is kept as evidence only. */
  readonly unusable?: string;
}

/** Reports the provider's clock (Unix milliseconds) and the round-trip time of the response. */
export type HeardTime = (timeMs: number, roundTripMs: number) => void;

export interface RateProvider {
  readonly name: string;
  /** Minimum time between requests, whatever the demand. */
  readonly minIntervalMs: number;
  /** The only currencies that it will ever quote; absent if others may be added. */
  readonly currencies?: ReadonlySet<string>;
  /** All quotes of the provider, without unreadable ones. Throws `ProviderFailed`. */
  fetchQuotes(nowMs: () => number, signal: AbortSignal, heard?: HeardTime): Promise<readonly Quote[]>;
}

/** The provider gave no useful response. `retryAfterMs`: the pause it asked for. */
export class ProviderFailed extends Error {
  override readonly name = 'ProviderFailed';
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Working precision of every rate calculation; results are rounded once, at the end. */
const Precise = Decimal.clone({ precision: 60, rounding: Decimal.ROUND_HALF_EVEN, toExpNeg: -40, toExpPos: 40 });

export const ONE = new Precise(1);

const PLAIN_DECIMAL = /^\d{1,20}(\.\d{1,50})?$/;

/** A positive price from a feed: a plain decimal string or a finite JSON number; null for anything else. */
export function readPrice(value: unknown): Decimal | null {
  const readable =
    typeof value === 'string'
      ? value.length <= 60 && PLAIN_DECIMAL.test(value)
      : typeof value === 'number' && Number.isFinite(value);
  if (!readable) return null;
  const price = new Precise(value as string | number);
  return price.greaterThan(0) ? price : null;
}

/** The same as text with the decimals of an amount; also null for a price too small for that. */
export function priceText(value: unknown): string | null {
  const price = readPrice(value)?.toDecimalPlaces(SCALE);
  return price?.greaterThan(0) ? price.toFixed() : null;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const otherCoin = (coin: Coin): Coin => must(COINS.find((it) => it !== coin));

/** Adds coin-to-coin quotes if the provider prices both coins only in US dollars. */
export function withCoinCrosses(quotes: readonly Quote[]): Quote[] {
  const perDollar = new Map(quotes.filter((quote) => quote.currency === 'USD').map((quote) => [quote.coin, quote]));
  const crosses = COINS.flatMap((coin): Quote[] => {
    const other = otherCoin(coin);
    const target = perDollar.get(coin);
    const source = perDollar.get(other);
    if (!target || !source || quotes.some((quote) => quote.currency === other && quote.coin === coin)) return [];
    const unusable = target.unusable ?? source.unusable;
    return [
      {
        currency: other,
        coin,
        rate: target.rate.dividedBy(source.rate),
        quotedAtMs: olderOf(target.quotedAtMs, source.quotedAtMs),
        ...(unusable === undefined ? {} : { unusable }),
      },
    ];
  });
  return [...quotes, ...crosses];
}

function olderOf(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
