export interface RateDecision {
  readonly allowed: boolean;
  /** Size of the bucket: the largest burst. */
  readonly limit: number;
  /** Whole requests left at this moment. */
  readonly remaining: number;
  /** Seconds until one more request is allowed (0 when one is now). */
  readonly retryAfterSec: number;
  /** Seconds until the bucket is full again. */
  readonly resetSec: number;
}

/** A token bucket per key: `ratePerSec` tokens flow in, at most `burst` are kept, each request takes one. */
export interface RateLimiter {
  /**
   * Takes one token when there is one. Never throws for a limit; a lost store is the adapter's to decide, never
   * silently open.
   */
  take(key: string, nowMs: number): RateDecision | Promise<RateDecision>;
}

/** A limiter whose buckets are in this process. */
export interface LocalRateLimiter extends RateLimiter {
  take(key: string, nowMs: number): RateDecision;
}
