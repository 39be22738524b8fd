import type { Coin } from '../money/money.ts';

/** One provider's quote as it was used, or why it was not used. */
export interface QuoteEvidence {
  readonly provider: string;
  readonly rate: string | null;
  readonly quotedAtMs: number | null;
  readonly ageMs: number | null;
  readonly used: boolean;
  readonly reason?: string;
}

export interface RateLock {
  /** Units of the coin per unit of the merchant currency. */
  readonly rate: string;
  readonly lockedAtSec: number;
  readonly rule: string;
  readonly quotes: readonly QuoteEvidence[];
}

/** The quote at that moment, for the books; null when none was available. */
export interface Valuation {
  readonly currency: string;
  readonly coin: Coin;
  readonly rate: string;
  readonly quotedAtMs: number;
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
 * The first money that counts came in the other coin: from now on that coin is due, on the terms fixed when the session
 * was created.
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
