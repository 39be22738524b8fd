export interface RateDecision {
  readonly allowed: boolean;
  /** Size of the bucket: the largest burst. */
  readonly limit: number;
  /** Whole requests currently left. */
  readonly remaining: number;
  /** Seconds until another request is allowed (0 if one is now). */
  readonly retryAfterSec: number;
  /** Seconds until the bucket is full again. */
  readonly resetSec: number;
}

/** A token bucket per key: `ratePerSec` tokens flow in, at most `burst` are held, each request takes one. */
export interface RateLimiter {
  /**
   * Takes one token if there is one. Never throws for a limit. The adapter decides what happens without its store, but
   * never silently allows.
   */
  take(key: string, nowMs: number): RateDecision | Promise<RateDecision>;
}

/** A limiter with buckets in this process. */
export interface LocalRateLimiter extends RateLimiter {
  take(key: string, nowMs: number): RateDecision;
}
