import { randomUUID } from 'node:crypto';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { Lease, Leases } from '../../ports/leases.ts';
import {
  answered,
  connectRedis,
  disconnectRedis,
  type RedisClient,
  type RedisConnectionOptions,
} from './connection.ts';

/**
 * KEYS: holder, last token. ARGV: grant id, milliseconds. Returns the token, or 0 while the lease is held. The token is
 * at least the server's time in milliseconds, so that it grows even if the last one was lost. A lease with more time
 * left than a new grant comes from a server whose clock was set back: its time is cut to that of a new grant, and a
 * live holder renews it.
 */
const ACQUIRE = `
if redis.call('EXISTS', KEYS[1]) == 1 then
  if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  return 0
end
local time = redis.call('TIME')
local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local token = math.max(tonumber(redis.call('GET', KEYS[2]) or '0') + 1, nowMs)
redis.call('SET', KEYS[2], string.format('%.0f', token))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return token
`;

/** KEYS: holder. ARGV: grant id, milliseconds. */
const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`;

const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`;

/**
 * Leases in Redis. They only divide work: a flush or fail-over can grant one twice, so every grant has a higher token,
 * and every write of a holder is guarded by an expected revision in the event log.
 */
export async function openRedisLeases(options: RedisConnectionOptions): Promise<Leases> {
  return new RedisLeases(await connectRedis(options), options.prefix ?? 'quittance');
}

class RedisLeases implements Leases {
  readonly #redis: RedisClient;
  readonly #prefix: string;

  constructor(redis: RedisClient, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  async acquire(name: string, ttlMs: number): Promise<Lease | null> {
    const holder = `{${this.#prefix}:lease:${name}}:holder`;
    const grant = randomUUID();
    const token = await this.#run(ACQUIRE, [holder, `{${this.#prefix}:lease:${name}}:token`], grant, ttlMs);
    if (token === 0) return null;
    return {
      name,
      token,
      // No answer counts as a lost lease, which may expire before the next one.
      renew: async () => (await this.#run(RENEW, [holder], grant, ttlMs).catch(lost)) === 1,
      release: async () => void (await this.#run(RELEASE, [holder], grant).catch(lost)),
    };
  }

  async close(): Promise<void> {
    await disconnectRedis(this.#redis);
  }

  async #run(script: string, keys: readonly string[], ...words: readonly (string | number)[]): Promise<number> {
    return (await answered(this.#redis.eval(script, keys.length, ...keys, ...words))) as number;
  }
}

function lost(error: unknown): number {
  if (error instanceof StoreUnavailable) return 0;
  throw error;
}
