import { describe, expect, it } from 'vitest';
import { createTokenBucketLimiter } from '../../../src/adapters/memory/token-bucket.ts';

const T0 = 1_767_225_600_000;

function bucket(ratePerSec: number, burst: number) {
  const limiter = createTokenBucketLimiter({ ratePerSec, burst });
  return (nowMs: number, key = 'key') => limiter.take(key, nowMs);
}

describe('the token bucket', () => {
  it('allows a burst, then one request for each token that flows in', () => {
    const take = bucket(100, 500);
    for (let i = 0; i < 500; i += 1) expect(take(T0)).toMatchObject({ allowed: true, remaining: 499 - i });
    expect(take(T0)).toEqual({ allowed: false, limit: 500, remaining: 0, retryAfterSec: 1, resetSec: 5 });
    expect(take(T0 + 9).allowed).toBe(false);
    expect(take(T0 + 10).allowed).toBe(true);
    expect(take(T0 + 10).allowed).toBe(false);
    for (let i = 0; i < 100; i += 1) expect(take(T0 + 1010).allowed).toBe(true);
    expect(take(T0 + 1010).allowed).toBe(false);
  });

  it('never holds more than its burst, however long it was idle', () => {
    const take = bucket(10, 3);
    take(T0);
    const later = T0 + 86_400_000;
    expect([1, 2, 3, 4].map(() => take(later).allowed)).toEqual([true, true, true, false]);
  });

  it('sustains the rate over a minute, whatever the rate', () => {
    for (const rate of [1, 3, 7, 100]) {
      const take = bucket(rate, 1);
      let allowed = 0;
      for (let ms = 0; ms < 60_000; ms += 1) if (take(T0 + ms).allowed) allowed += 1;
      expect(Math.abs(allowed - rate * 60)).toBeLessThanOrEqual(1 + ((rate * 60) % 1000) / 10);
      expect(allowed).toBeLessThanOrEqual(rate * 60 + 1);
    }
  });

  it('says when to retry, so that a client that waits is accepted', () => {
    const take = bucket(0.1, 1);
    expect(take(T0).allowed).toBe(true);
    const refused = take(T0 + 500);
    expect(refused).toMatchObject({ allowed: false, retryAfterSec: 10 });
    expect(take(T0 + 500 + refused.retryAfterSec * 1000).allowed).toBe(true);
  });

  it('separates keys', () => {
    const take = bucket(1, 1);
    expect(take(T0, 'a').allowed).toBe(true);
    expect(take(T0, 'b').allowed).toBe(true);
    expect(take(T0, 'a').allowed).toBe(false);
  });

  it('is not emptied for longer than it takes to fill when the clock steps back', () => {
    const take = bucket(10, 5);
    for (let i = 0; i < 5; i += 1) take(T0);
    expect(take(T0 - 3_600_000).allowed).toBe(false);
    expect(take(T0 - 3_600_000 + 500).allowed).toBe(true);
  });

  it('forgets the keys that are full again', () => {
    const limiter = createTokenBucketLimiter({ ratePerSec: 1000, burst: 10 });
    for (let i = 0; i < 10_000; i += 1) void limiter.take(`key-${i}`, T0);
    // The sweep runs on every ten-thousandth take; a forgotten key starts with a full bucket either way.
    for (let i = 0; i < 10_000; i += 1) expect(limiter.take(`key-${i}`, T0 + 1000).remaining).toBe(9);
  });

  it('refuses invalid settings', () => {
    expect(() => createTokenBucketLimiter({ ratePerSec: 0, burst: 10 })).toThrow(RangeError);
    expect(() => createTokenBucketLimiter({ ratePerSec: 10, burst: 0 })).toThrow(RangeError);
  });
});
