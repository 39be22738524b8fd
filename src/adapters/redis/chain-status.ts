import type { Mode } from '../../domain/ids.ts';
import type { Network } from '../../domain/networks.ts';
import type { ChainStatusStore, ChainReport } from '../../ports/chain-status.ts';
import { connectRedis, disconnectRedis, type RedisClient, type RedisConnectionOptions } from './connection.ts';

/** KEYS: reports, tokens. ARGV: chain, token, report. A watcher that lost its lease without noticing must not speak over the next one. */
const PUBLISH = `
local last = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
if tonumber(ARGV[2]) < last then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`;

const REFRESH_MS = 500;

/** A status that all processes share. */
export async function openRedisChainStatus(options: RedisConnectionOptions): Promise<ChainStatusStore> {
  const status = new RedisChainStatus(await connectRedis(options), options.prefix ?? 'quittance');
  await status.refresh();
  return status;
}

class RedisChainStatus implements ChainStatusStore {
  readonly #redis: RedisClient;
  readonly #tag: string;
  readonly #timer: NodeJS.Timeout;
  #reports: Readonly<Record<string, string>> = {};
  #isRefreshing = false;

  constructor(redis: RedisClient, prefix: string) {
    this.#redis = redis;
    this.#tag = `{${prefix}:chains}`;
    this.#timer = setInterval(() => void this.refresh(), REFRESH_MS).unref();
  }

  publish(mode: Mode, network: Network, token: number, report: ChainReport): void {
    const keys = [`${this.#tag}:reports`, `${this.#tag}:tokens`];
    // The next report says all that a lost one did.
    this.#redis.eval(PUBLISH, 2, ...keys, `${mode}/${network}`, String(token), JSON.stringify(report)).catch(() => {});
  }

  read(mode: Mode, network: Network): ChainReport | null {
    const text = this.#reports[`${mode}/${network}`];
    return text === undefined ? null : (JSON.parse(text) as ChainReport);
  }

  async refresh(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      this.#reports = await this.#redis.hgetall(`${this.#tag}:reports`);
    } catch {
      // What was read before stays true: a chain is never read less far than it was.
    } finally {
      this.#isRefreshing = false;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await disconnectRedis(this.#redis);
  }
}
