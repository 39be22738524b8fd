import { answered, type RedisClient } from './connection.ts';
import type { RowKeys } from './row-keys.ts';

const NAMES_AT_A_TIME = 500;

/** Removes generations that nobody reads any more, a little at a time. What a process leaves behind the next one takes up. */
export class DroppedRows {
  readonly #redis: RedisClient;
  readonly #keys: RowKeys;
  #sweeping: Promise<void> | null = null;
  #isAskedAgain = false;
  #isClosed = false;

  constructor(redis: RedisClient, keys: RowKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  sweep(): void {
    this.#isAskedAgain = true;
    this.#sweeping ??= this.#sweepAll()
      // Redis is away: the next drop or start tries again.
      .catch(() => undefined)
      .finally(() => (this.#sweeping = null));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sweeping;
  }

  async #sweepAll(): Promise<void> {
    while (this.#isAskedAgain && !this.#isClosed) {
      this.#isAskedAgain = false;
      for (const entry of await answered(this.#redis.smembers(this.#keys.dropped))) {
        const [kind, generation, ...name] = entry.split(' ') as [string, string, ...string[]];
        if (kind === 'table') await this.#sweepTable(name.join(' '), generation);
        else if (!(await this.#sweepSet(name.join(' '), generation))) return;
        await answered(this.#redis.srem(this.#keys.dropped, entry));
      }
    }
  }

  async #sweepTable(name: string, generation: string): Promise<void> {
    await answered(this.#redis.unlink(this.#keys.table(name, generation), this.#keys.ordered(name, generation)));
  }

  /** False when it was closed before the end. */
  async #sweepSet(set: string, generation: string): Promise<boolean> {
    const names = this.#keys.names(set, generation);
    while (!this.#isClosed) {
      // Names go after their lists, so that none is forgotten when the process ends in between.
      const some = await answered(this.#redis.srandmember(names, NAMES_AT_A_TIME));
      if (some.length === 0) return true;
      const lists = some.flatMap((name) => [this.#keys.list(name, generation), this.#keys.times(name, generation)]);
      await answered(this.#redis.unlink(...lists));
      await answered(this.#redis.srem(names, ...some));
    }
    return false;
  }
}
