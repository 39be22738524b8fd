import { parseJson } from '../../runtime/util/parse-json.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { SharedStatus } from '../../ports/shared-status.ts';
import {
  answered,
  connectRedis,
  disconnectRedis,
  type RedisClient,
  type RedisConnectionOptions,
} from './connection.ts';

/**
 * KEYS: notices, tokens, expiry times. ARGV: subject, token, notice, lifetime in ms or 0. The token stops a holder that
 * unknowingly lost its lease from overwriting the next one's notice. Each publication removes expired notices of its
 * kind.
 */
const PUBLISH = `
if tonumber(ARGV[4]) > 0 then
  local time = redis.call('TIME')
  local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  for _, about in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', nowMs)) do
    redis.call('HDEL', KEYS[1], about)
    redis.call('HDEL', KEYS[2], about)
    redis.call('ZREM', KEYS[3], about)
  end
  redis.call('ZADD', KEYS[3], nowMs + tonumber(ARGV[4]), ARGV[1])
end
local last = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
if tonumber(ARGV[2]) < last then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`;

const REFRESH_MS = 500;

/** Status that all processes share through Redis. */
export async function openRedisSharedStatus(options: RedisConnectionOptions): Promise<SharedStatus> {
  const sharedStatus = new RedisSharedStatus(await connectRedis(options), options.prefix ?? 'quittance');
  // An unavailable server is asked again.
  await sharedStatus.refresh().catch(() => {});
  return sharedStatus;
}

class RedisSharedStatus implements SharedStatus {
  readonly #redis: RedisClient;
  readonly #tag: string;
  readonly #timer: NodeJS.Timeout;
  #notices: Readonly<Record<string, string>> = {};
  #refreshing: Promise<void> | null = null;

  constructor(redis: RedisClient, prefix: string) {
    this.#redis = redis;
    this.#tag = `{${prefix}:status}`;
    // Earlier notices stay valid, because progress never goes back.
    this.#timer = setInterval(() => void (this.#refreshing ?? this.refresh()).catch(() => {}), REFRESH_MS).unref();
  }

  publish(about: string, token: number, notice: JsonValue, lifetimeMs = 0): void {
    const keys = [`${this.#tag}:notices`, `${this.#tag}:tokens`, `${this.#tag}:lifetimes`];
    // The next notice contains everything that a lost one did.
    this.#redis
      .eval(PUBLISH, 3, ...keys, about, String(token), JSON.stringify(notice), String(lifetimeMs))
      .catch(() => {});
  }

  read(about: string): JsonValue | null {
    const text = this.#notices[about];
    return text === undefined ? null : parseJson(text);
  }

  readAll(prefix: string): ReadonlyMap<string, JsonValue> {
    const found = Object.entries(this.#notices).filter(([about]) => about.startsWith(prefix));
    return new Map(found.map(([about, text]) => [about, parseJson(text)]));
  }

  refresh(): Promise<void> {
    const refreshing = this.#refresh().finally(() => (this.#refreshing = null));
    return (this.#refreshing = refreshing);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await disconnectRedis(this.#redis);
  }

  async #refresh(): Promise<void> {
    this.#notices = await answered(this.#redis.hgetall(`${this.#tag}:notices`));
  }
}
