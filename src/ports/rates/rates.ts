import type { RateLock, Valuation } from '../../domain/events/coin-events.ts';
import type { Coin } from '../../domain/money/money.ts';

export interface Rates {
  /**
   * The rate from a merchant currency to a coin with its evidence, from fresh quotes only; null if there is no usable
   * one. Never waits for a provider while a fresh quote exists.
   */
  lock(currency: string, coin: Coin, nowMs: number): Promise<RateLock | null>;
  /** False if no provider will ever quote the currency, so retrying is useless. */
  mayQuote(currency: string): boolean;
  /** The current quote for the books; null if there is none in memory. Never waits. */
  valuation(currency: string, coin: Coin, nowMs: number): Valuation | null;
  close(): Promise<void>;
}
