import type { Decimal } from 'decimal.js';
import type { QuoteEvidence } from '../../domain/events/coin-events.ts';
import type { Quote } from './provider.ts';
import { isSane } from './sanity-band.ts';
import { must } from '../../domain/values/must.ts';

/** Largest accepted distance from the median of the usable quotes. */
const MAX_DEVIATION = 0.02;
/** Allowed clock difference. Quotes further in the future are rejected. */
const MAX_AHEAD_MS = 60_000;
/** Significant digits of a rate, and its maximum number of decimals. */
const SIGNIFICANT_DIGITS = 12;
const MAX_DECIMALS = 18;

/** What each provider says about one pair; `quote` is null with a reason if it says nothing. */
export interface Testimony {
  readonly provider: string;
  readonly quote: Quote | null;
  readonly reason?: string;
}

export interface Judgement {
  /** Null if there is no usable rate. */
  readonly rate: string | null;
  readonly rule: string;
  readonly quotes: readonly QuoteEvidence[];
}

/** Names the rule in the evidence. A changed rule is a new version. */
const ruleName = (maxAgeMs: number): string =>
  `median.v1 max_age=${maxAgeMs / 1000}s max_deviation=${MAX_DEVIATION * 100}%`;

/**
 * The median of the fresh and plausible quotes without outliers. More than half of them must agree, so two
 * contradicting quotes give no rate.
 */
export function judge(currency: string, testimonies: readonly Testimony[], nowMs: number, maxAgeMs: number): Judgement {
  const examined = testimonies.map((testimony) => ({
    testimony,
    fault: faultOf(currency, testimony, nowMs, maxAgeMs),
  }));
  const usable = examined.filter(({ fault }) => fault === null).map(({ testimony }) => must(testimony.quote).rate);
  const middle = median(usable);
  const agrees = (rate: Decimal): boolean =>
    middle !== null && rate.minus(middle).abs().dividedBy(middle).lessThanOrEqualTo(MAX_DEVIATION);
  const agreeing = usable.filter(agrees);
  const decided = agreeing.length * 2 > usable.length ? median(agreeing) : null;
  const quotes = examined.map(({ testimony, fault }) => {
    const outlier = fault === null && !agrees(must(testimony.quote).rate) ? 'outlier' : fault;
    return evidence(testimony, nowMs, outlier ?? (decided === null ? 'no_majority' : null));
  });
  return { rate: decided === null ? null : rateText(decided), rule: ruleName(maxAgeMs), quotes };
}

function faultOf(currency: string, { quote, reason }: Testimony, nowMs: number, maxAgeMs: number): string | null {
  if (quote === null) return reason ?? 'not_quoted';
  if (quote.quotedAtMs !== null && quote.quotedAtMs > nowMs + MAX_AHEAD_MS) return 'from_the_future';
  if (quote.quotedAtMs !== null && nowMs - quote.quotedAtMs > maxAgeMs) return 'stale';
  if (quote.unusable !== undefined) return quote.unusable;
  return isSane(currency, quote.rate) ? null : 'out_of_band';
}

function evidence({ provider, quote }: Testimony, nowMs: number, fault: string | null): QuoteEvidence {
  const quotedAtMs = quote === null ? null : (quote.quotedAtMs ?? nowMs);
  const stated = {
    provider,
    rate: quote === null ? null : rateText(quote.rate),
    quotedAtMs,
    ageMs: quotedAtMs === null ? null : Math.max(0, nowMs - quotedAtMs),
  };
  return fault === null ? { ...stated, used: true } : { ...stated, used: false, reason: fault };
}

function median(rates: readonly Decimal[]): Decimal | null {
  const sorted = [...rates].sort((a, b) => a.comparedTo(b));
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper && lower ? upper.plus(lower).dividedBy(2) : null;
}

/** Canonical decimal text with at most 18 decimals. */
export function rateText(rate: Decimal): string {
  return rate
    .toSignificantDigits(Math.max(SIGNIFICANT_DIGITS, rate.trunc().toFixed().length))
    .toDecimalPlaces(MAX_DECIMALS)
    .toFixed();
}
