import type { Coin } from '../money.ts';

/** One provider's quote as it was used, or why it was not. */
export interface QuoteEvidence {
  readonly provider: string;
  readonly rate: string | null;
  readonly quotedAtMs: number | null;
  readonly ageMs: number | null;
  readonly used: boolean;
  readonly reason?: string;
}

export interface RateLock {
  /** One unit of the merchant currency is this many units of the coin. */
  readonly rate: string;
  readonly lockedAtSec: number;
  readonly rule: string;
  readonly quotes: readonly QuoteEvidence[];
}

/** What the order costs in one coin. */
export interface CoinTerms {
  readonly coin: Coin;
  readonly dueAmount: string;
  readonly rateLock: RateLock;
  readonly tolerance: string;
  readonly dustLimit: string;
}

/**
 * The first money that counts came in the other coin: from now on that one is due, by the terms of the session's
 * creation.
 */
export interface CoinChosen {
  readonly type: 'CoinChosen';
  readonly data: {
    readonly coin: Coin;
    readonly dueAmount: string;
    readonly tolerance: string;
    readonly rate: string;
    readonly rateLockedAtSec: number;
  };
}
