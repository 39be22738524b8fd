import type { NotificationId } from '../../domain/values/ids.ts';
import type { DeliveryAnswer, DeliveryAnswers } from '../../ports/webhooks/delivery-answers.ts';
import {
  answered,
  connectRedis,
  disconnectRedis,
  type RedisClient,
  type RedisConnectionOptions,
} from './connection.ts';

/** KEYS: the answers of a notification. ARGV: attempt, body, lifetime in seconds. */
const KEEP = `
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('EXPIRE', KEYS[1], ARGV[3])
`;

/** One hour, so that memory does not grow with history. */
const LIFETIME_SEC = 3_600;

/** Receivers' answers, shared by all nodes. A convenience with a lifetime: a flush loses only them. */
export async function openRedisDeliveryAnswers(options: RedisConnectionOptions): Promise<DeliveryAnswers> {
  return new RedisDeliveryAnswers(await connectRedis(options), options.prefix ?? 'quittance');
}

class RedisDeliveryAnswers implements DeliveryAnswers {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #keeping = new Set<Promise<unknown>>();

  constructor(redis: RedisClient, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  keep({ notificationId, attempt, body }: DeliveryAnswer): void {
    const key = this.#key(notificationId);
    const keeping = this.#redis
      .eval(KEEP, 1, key, String(attempt), Buffer.from(body), String(LIFETIME_SEC))
      .catch(() => {});
    this.#keeping.add(keeping);
    void keeping.then(() => this.#keeping.delete(keeping));
  }

  async of(notificationId: NotificationId): Promise<ReadonlyMap<number, Uint8Array>> {
    const found = await answered(this.#redis.hgetallBuffer(this.#key(notificationId)));
    const rows = Object.entries(found).map(([attempt, body]) => [Number(attempt), new Uint8Array(body)] as const);
    return new Map(rows.sort(([one], [other]) => one - other));
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#keeping);
    await disconnectRedis(this.#redis);
  }

  #key(notificationId: NotificationId): string {
    return `${this.#prefix}:answers:${notificationId}`;
  }
}
