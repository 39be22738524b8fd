import type { LocalRateLimiter, RateDecision } from '../../ports/rate-limiter.ts';

export interface TokenBucketSettings {
  readonly ratePerSec: number;
  readonly burst: number;
}

const SWEEP_EVERY_TAKES = 10_000;

/**
 * A token bucket per key in this process. One number per key tells when its bucket will be full again (GCRA), so taking
 * a token is one look-up and one addition, without timers or promises.
 */
export function createTokenBucketLimiter({ ratePerSec, burst }: TokenBucketSettings): LocalRateLimiter {
  if (!(ratePerSec > 0) || !(burst >= 1)) throw new RangeError('a rate above 0 and a burst of at least 1 are needed');
  const tokenMs = 1000 / ratePerSec;
  const capacityMs = burst * tokenMs;
  const fullAtMs = new Map<string, number>();
  let takes = 0;

  /** Full buckets are dropped, so the map holds only keys of the last `burst / rate` seconds. */
  function sweep(nowMs: number): void {
    for (const [key, atMs] of fullAtMs) if (atMs <= nowMs) fullAtMs.delete(key);
  }

  function take(key: string, nowMs: number): RateDecision {
    takes += 1;
    if (takes % SWEEP_EVERY_TAKES === 0) sweep(nowMs);
    // A clock that stepped back must not empty a bucket for longer than a refill takes.
    const filledAt = Math.min(Math.max(fullAtMs.get(key) ?? nowMs, nowMs), nowMs + capacityMs);
    const after = filledAt + tokenMs;
    const overMs = after - nowMs - capacityMs;
    // Sums of a fraction such as 1000/3 drift; a microsecond does not matter.
    const allowed = overMs <= 0.001;
    const stands = allowed ? after : filledAt;
    fullAtMs.set(key, stands);
    return {
      allowed,
      limit: burst,
      remaining: Math.max(0, Math.floor((capacityMs - (stands - nowMs)) / tokenMs + 1e-6)),
      retryAfterSec: allowed ? 0 : Math.max(1, Math.ceil(overMs / 1000)),
      resetSec: Math.ceil((stands - nowMs) / 1000),
    };
  }

  return { take };
}
