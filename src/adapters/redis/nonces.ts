import { hash } from 'node:crypto';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { Burnt, Nonces } from '../../ports/event-log/nonces.ts';
import {
  answered,
  connectRedis,
  disconnectRedis,
  type RedisClient,
  type RedisConnectionOptions,
} from './connection.ts';

export interface RedisNoncesOptions extends RedisConnectionOptions {
  /**
   * What a Redis without our marker means. `lost` (the default): nonces may be lost, so requests that change something
   * are refused for 600 s. `new`: nothing was ever accepted here, as in a first installation.
   */
  readonly emptyMeans?: 'lost' | 'new';
  /**
   * True if Redis writes every command to disk before it answers (`appendfsync always`), so that a restart loses
   * nothing.
   */
  readonly survivesRestarts?: boolean;
}

/** A timestamp may be 300 s ahead and stays valid for 300 s after that. */
const LIFETIME_SEC = 600;
/** Redis expires keys by its own clock, a little later than ours. */
const KEPT_SEC = LIFETIME_SEC + 60;

/**
 * Identifies the run of the server that executes the script and stores the nonces; in a cluster, or after a fail-over,
 * nothing else could tell. Empty if restarts lose nothing.
 */
const RUN = `
local function run(isAsked)
  if isAsked ~= '1' then return '' end
  return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
end
`;

/**
 * KEYS: the marker, the nonce. ARGV: now, lifetime, seconds to keep, 1 if a restart loses nonces, 1 if only a complete
 * memory may accept. The marker holds until when the memory is incomplete, and for which run of the server it was made.
 * If it is missing or names another run, nonces may be lost, and the memory is incomplete for one lifetime from now.
 * Returns 1 accepted, 2 accepted although the memory is incomplete, 0 used before, -1 refused because the memory is
 * incomplete.
 */
const BURN = `${RUN}
local now = tonumber(ARGV[1])
local id = run(ARGV[4])
local marker = redis.call('HMGET', KEYS[1], 'until', 'run')
local incompleteUntil = tonumber(marker[1] or '')
if incompleteUntil == nil or (id ~= '' and marker[2] ~= id) then
  incompleteUntil = now + tonumber(ARGV[2])
  redis.call('HSET', KEYS[1], 'until', incompleteUntil, 'run', id)
end
if ARGV[5] == '1' and now <= incompleteUntil then return -1 end
local expires = tonumber(redis.call('GET', KEYS[2]) or '')
if expires ~= nil and now <= expires then return 0 end
redis.call('SET', KEYS[2], string.format('%.0f', now + tonumber(ARGV[2])), 'EX', ARGV[3])
if now <= incompleteUntil then return 2 end
return 1
`;

/** KEYS: the marker. ARGV: 1 if a restart loses nonces. Declares that an empty Redis has lost nothing. */
const CLAIM_NEW = `${RUN}
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('HSET', KEYS[1], 'until', 0, 'run', run(ARGV[1])) end
return 1
`;

/**
 * Opens the used nonces shared by all nodes. If Redis loses them (flush, restart, fail-over), burns for requests that
 * change something reject with `StoreUnavailable` for 600 s, the longest time that a lost nonce could still be
 * replayed; reads continue.
 */
export async function openRedisNonces(options: RedisNoncesOptions): Promise<Nonces> {
  const nonces = new RedisNonces(await connectRedis(options), options);
  try {
    if (options.emptyMeans === 'new') await nonces.claimNew();
    return nonces;
  } catch (error) {
    await nonces.close();
    throw error;
  }
}

class RedisNonces implements Nonces {
  readonly #redis: RedisClient;
  readonly #tag: string;
  readonly #asksRun: '0' | '1';

  constructor(redis: RedisClient, { prefix = 'quittance', survivesRestarts = false }: RedisNoncesOptions) {
    this.#redis = redis;
    this.#tag = `{${prefix}:nonces}`;
    this.#asksRun = survivesRestarts ? '0' : '1';
  }

  async claimNew(): Promise<void> {
    await answered(this.#redis.eval(CLAIM_NEW, 1, this.#marker, this.#asksRun));
  }

  async burn(
    keyId: string,
    nonce: string,
    nowSec: number,
    durable: 'now' | 'with-command',
    mayRepeat = durable === 'now',
  ): Promise<Burnt> {
    const answer = await this.#burn(keyId, nonce, nowSec, !mayRepeat);
    if (answer === -1)
      throw new StoreUnavailable(
        'used nonces were lost; requests that change something wait until none can be replayed',
      );
    return { accepted: answer > 0, ...(answer === 2 && { mayBeReplay: true }) };
  }

  /** The nonce was written before `burn` resolved. This asks again in case it was lost since. */
  async settle(keyId: string, nonce: string, nowSec: number): Promise<void> {
    await this.#burn(keyId, nonce, nowSec, false);
  }

  async close(): Promise<void> {
    await disconnectRedis(this.#redis);
  }

  async #burn(keyId: string, nonce: string, nowSec: number, needsAll: boolean): Promise<number> {
    const digest = hash('sha256', `${keyId}\0${nonce}`, 'hex').slice(0, 32);
    const keys = [this.#marker, `${this.#tag}:${digest}`];
    const answer = await answered(
      this.#redis.eval(BURN, 2, ...keys, nowSec, LIFETIME_SEC, KEPT_SEC, this.#asksRun, needsAll ? '1' : '0'),
    );
    return answer as number;
  }

  get #marker(): string {
    return `${this.#tag}:marker`;
  }
}
