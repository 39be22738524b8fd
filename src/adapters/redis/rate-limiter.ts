import type { RateDecision, RateLimiter } from '../../ports/rate-limiter.ts';
import {
  answered,
  connectRedis,
  disconnectRedis,
  type RedisClient,
  type RedisConnectionOptions,
} from './connection.ts';

export interface RedisRateLimiterOptions extends RedisConnectionOptions {
  readonly ratePerSec: number;
  readonly burst: number;
}

/**
 * KEYS[1] the bucket. ARGV: now, milliseconds per token, milliseconds per full bucket. One number tells when the bucket
 * will be full again (GCRA). A node with a fast clock can empty a bucket only for as long as a refill takes. Returns 1
 * or 0, and when the bucket will be full, in microseconds from now.
 */
const TAKE = `
local now, token, capacity = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local full = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
full = math.min(math.max(full, now), now + capacity)
local allowed = 0
if full + token - now - capacity <= 0.001 then
  allowed = 1
  full = full + token
end
redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', math.ceil(capacity) + 1000)
return { allowed, math.floor((full - now) * 1000 + 0.5) }
`;

/** A limiter with buckets shared by all nodes. */
export interface SharedRateLimiter extends RateLimiter {
  /** Rejects with `StoreUnavailable` when Redis does not answer; no answer never allows a request. */
  take(key: string, nowMs: number): Promise<RateDecision>;
  close(): Promise<void>;
}

export async function openRedisRateLimiter(options: RedisRateLimiterOptions): Promise<SharedRateLimiter> {
  const { ratePerSec, burst, prefix = 'quittance' } = options;
  if (!(ratePerSec > 0) || !(burst >= 1)) throw new RangeError('a rate above 0 and a burst of at least 1 are needed');
  return createLimiter(await connectRedis(options), prefix, 1000 / ratePerSec, burst);
}

function createLimiter(redis: RedisClient, prefix: string, tokenMs: number, burst: number): SharedRateLimiter {
  const capacityMs = burst * tokenMs;
  return {
    async take(key, nowMs) {
      const reply = await answered(redis.eval(TAKE, 1, `${prefix}:rate:${key}`, nowMs, tokenMs, capacityMs));
      const [allowed, fullInMicros] = reply as [number, number];
      const fullInMs = fullInMicros / 1000;
      return {
        allowed: allowed === 1,
        limit: burst,
        remaining: Math.max(0, Math.floor((capacityMs - fullInMs) / tokenMs + 1e-6)),
        retryAfterSec: allowed === 1 ? 0 : Math.max(1, Math.ceil((fullInMs + tokenMs - capacityMs) / 1000)),
        resetSec: Math.ceil(fullInMs / 1000),
      };
    },
    close: () => disconnectRedis(redis),
  };
}
