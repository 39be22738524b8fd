import type { Coin } from '../../domain/money/money.ts';
import type { Clock } from '../../ports/clock.ts';
import { ProviderFailed, type HeardTime, type Quote, type RateProvider } from './provider.ts';
import type { Testimony } from './judge-quotes.ts';

/** Consecutive failures after which the provider is paused. */
const FAILURES_TO_OPEN = 3;
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
const TIMEOUT_MS = 5_000;

/** Reports a provider's clock, with the provider's name first. */
export type OnServerTime = (provider: string, ...said: Parameters<HeardTime>) => void;

export interface SourceStatus {
  readonly provider: string;
  /** Age of the newest quotes; null before the first. */
  readonly ageMs: number | null;
  /** `open`: failed repeatedly and is paused until `retryInMs` has passed. */
  readonly breaker: 'closed' | 'open';
  readonly retryInMs: number;
  readonly lastError: string | null;
}

/** One provider with its newest quotes, a circuit breaker and at most one running request. */
export class QuoteSource {
  readonly provider: RateProvider;
  readonly #clock: Clock;
  readonly #onFailure: (provider: string, message: string) => void;
  #quotes: ReadonlyMap<string, Quote> = new Map();
  #answeredAtMs: number | null = null;
  #failures = 0;
  #lastError: string | null = null;
  #notBeforeMs = -Infinity;
  #underWay: Promise<void> | null = null;
  readonly #closing = new AbortController();
  /** Incremented with every set of quotes, so that conclusions from an older set are recognised. */
  generation = 0;

  readonly #onServerTime: OnServerTime;

  constructor(
    provider: RateProvider,
    clock: Clock,
    onFailure: (provider: string, message: string) => void,
    onServerTime: OnServerTime = () => undefined,
  ) {
    this.provider = provider;
    this.#clock = clock;
    this.#onFailure = onFailure;
    this.#onServerTime = onServerTime;
  }

  testimony(currency: string, coin: Coin): Testimony {
    const quote = this.#quotes.get(pairKey(currency, coin)) ?? null;
    if (quote !== null) return { provider: this.provider.name, quote };
    return { provider: this.provider.name, quote, reason: this.#answeredAtMs === null ? 'no_answer' : 'not_quoted' };
  }

  /** Whether the newest quotes are recent enough that another request would not help. */
  isFresh(nowMs: number, maxAgeMs: number): boolean {
    if (this.#answeredAtMs === null) return false;
    const quotedAt = [...this.#quotes.values()].find((quote) => quote.quotedAtMs !== null)?.quotedAtMs ?? nowMs;
    return nowMs - quotedAt <= maxAgeMs;
  }

  /**
   * Requests new quotes unless a request is running, the last one was just now, or the breaker is open. Never rejects.
   */
  refresh(): Promise<void> {
    if (this.#underWay) return this.#underWay;
    if (this.#closing.signal.aborted || this.#clock.nowMs() < this.#notBeforeMs) return Promise.resolve();
    this.#underWay = this.#ask().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  status(nowMs: number): SourceStatus {
    return {
      provider: this.provider.name,
      ageMs: this.#answeredAtMs === null ? null : Math.max(0, nowMs - this.#answeredAtMs),
      breaker: this.#failures >= FAILURES_TO_OPEN ? 'open' : 'closed',
      retryInMs: Math.max(0, this.#notBeforeMs - nowMs),
      lastError: this.#lastError,
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#underWay;
  }

  async #ask(): Promise<void> {
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), this.#closing.signal]);
      const { name } = this.provider;
      const heard: HeardTime = (timeMs, roundTripMs) => this.#onServerTime(name, timeMs, roundTripMs);
      const quotes = await this.provider.fetchQuotes(() => this.#clock.nowMs(), signal, heard);
      if (quotes.length === 0) throw new ProviderFailed('answered no usable quote');
      this.#quotes = new Map(quotes.map((quote) => [pairKey(quote.currency, quote.coin), quote]));
      this.#answeredAtMs = this.#clock.nowMs();
      this.#failures = 0;
      this.#lastError = null;
      this.#notBeforeMs = this.#answeredAtMs + this.provider.minIntervalMs;
      this.generation += 1;
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#failures += 1;
    this.#lastError = error instanceof ProviderFailed ? error.message : 'answered in an unknown form';
    const rounds = this.#failures - FAILURES_TO_OPEN;
    const pauseMs = rounds < 0 ? this.provider.minIntervalMs : Math.min(FIRST_PAUSE_MS * 2 ** rounds, LONGEST_PAUSE_MS);
    const askedMs = error instanceof ProviderFailed ? error.retryAfterMs : 0;
    this.#notBeforeMs = this.#clock.nowMs() + Math.max(pauseMs, askedMs);
    this.#onFailure(this.provider.name, this.#lastError);
  }
}

const pairKey = (currency: string, coin: Coin): string => `${currency}>${coin}`;
