import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type Position, StoreUnavailable } from '../../ports/event-store.ts';
import { type Change, type ListMember, type ListRange, type ReadModel, ReadModelMoved, type Row } from '../../ports/read-model.ts';
import { answered, connectRedis, disconnectRedis, type RedisConnectionOptions } from './redis-connection.ts';
import { APPLY, BEGIN, PAGE } from './redis-read-model-scripts.ts';
import { WriteMarks } from './redis-write-marks.ts';

/** Opens the look-ups in Redis. Nothing in it is authoritative: after a loss the projections fill it again from the ledger. */
export async function openRedisReadModel(options: RedisConnectionOptions): Promise<ReadModel> {
  return new RedisReadModel(await connectRedis(options), options.prefix ?? 'quittance');
}

class RedisReadModel implements ReadModel {
  readonly #redis: Redis;
  readonly #tag: string;
  readonly #marks = new Map<string, WriteMarks>();
  readonly #applying = new Set<Promise<void>>();
  #closed = false;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#tag = `{${prefix}:rows}`;
  }

  async checkpoint(projection: string): Promise<Position | null> {
    return partsOf(await this.#stored(projection)).position;
  }

  async generation(projection: string): Promise<string | null> {
    return partsOf(await this.#stored(projection)).generation;
  }

  async begin(projection: string): Promise<Position | null> {
    const stored = (await answered(this.#redis.eval(BEGIN, 1, this.#key('checkpoints'), projection, randomUUID()))) as string;
    const { position, mark } = partsOf(stored);
    this.#marksOf(projection).begin(mark!);
    return position;
  }

  apply(projection: string, changes: readonly Change[], checkpoint: Position): Promise<void> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the read model is closed'));
    const applying = this.#apply(projection, changes, checkpoint);
    this.#applying.add(applying);
    const forget = (): void => void this.#applying.delete(applying);
    applying.then(forget, forget);
    return applying;
  }

  async get(table: string, key: string): Promise<Row | null> {
    return rowOf(await answered(this.#redis.hget(this.#table(table), key)));
  }

  async getMany(table: string, keys: readonly string[]): Promise<(Row | null)[]> {
    if (keys.length === 0) return [];
    return (await answered(this.#redis.hmget(this.#table(table), ...keys))).map(rowOf);
  }

  async scan(table: string, { afterKey, limit }: { readonly afterKey?: string; readonly limit: number }): Promise<{ key: string; row: Row }[]> {
    const keys = (await answered(this.#redis.hkeys(this.#table(table)))).filter((key) => afterKey === undefined || key > afterKey);
    const page = keys.sort().slice(0, limit);
    const rows = await this.getMany(table, page);
    return page.flatMap((key, index) => (rows[index] ? [{ key, row: rows[index] }] : []));
  }

  async page(
    list: string,
    { offset, limit, ...range }: ListRange & { readonly offset: number; readonly limit: number },
  ): Promise<{ members: ListMember[]; total: number }> {
    return this.#page(list, range, 'offset', String(offset), limit);
  }

  async before(
    list: string,
    { before, limit, ...range }: ListRange & { readonly before: number | null; readonly limit: number },
  ): Promise<ListMember[]> {
    return (await this.#page(list, range, 'before', before === null ? '' : String(before), limit)).members;
  }

  async clear(projection: string, tables: readonly string[], lists: readonly string[]): Promise<void> {
    const names = await answered(this.#redis.smembers(this.#key('lists')));
    const gone = names.filter((name) => lists.some((prefix) => name.startsWith(prefix)));
    const step = this.#redis.multi().hdel(this.#key('checkpoints'), projection);
    for (const table of tables) step.unlink(this.#table(table));
    for (const list of gone) step.unlink(this.#list(list), this.#times(list)).srem(this.#key('lists'), list);
    for (const [error] of (await answered(step.exec())) ?? []) if (error) throw new StoreUnavailable(`Redis refused: ${error.message}`);
    this.#marks.delete(projection);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.allSettled(this.#applying);
    await disconnectRedis(this.#redis);
  }

  async #apply(projection: string, changes: readonly Change[], checkpoint: Position): Promise<void> {
    const { keys, words } = this.#written(changes);
    const marks = this.#marksOf(projection);
    const { expected, mark } = marks.next();
    let done: unknown;
    try {
      const guards = [String(expected?.length ?? 0), ...(expected ?? [])];
      done = await answered(this.#redis.eval(APPLY, keys.length, ...keys, projection, `${checkpoint} ${mark}`, ...guards, ...words));
    } catch (error) {
      marks.unanswered();
      throw error;
    }
    if (done === 1) return marks.done(mark);
    marks.refused(mark);
    throw new ReadModelMoved(`the rows of projection ${projection} are not as they were left`);
  }

  async #stored(projection: string): Promise<string> {
    return (await answered(this.#redis.hget(this.#key('checkpoints'), projection))) ?? '';
  }

  #marksOf(projection: string): WriteMarks {
    const marks = this.#marks.get(projection) ?? new WriteMarks();
    this.#marks.set(projection, marks);
    return marks;
  }

  /** Checks everything before anything is sent: a script is not undone half way. */
  #written(changes: readonly Change[]): { keys: string[]; words: string[] } {
    const keys = [this.#key('checkpoints'), this.#key('lists')];
    const indexes = new Map<string, string>();
    const indexOf = (...named: readonly string[]): string => {
      const known = indexes.get(named[0]!);
      if (known) return known;
      const index = String(keys.push(...named) - named.length + 1);
      indexes.set(named[0]!, index);
      return index;
    };
    const words = changes.flatMap((change): string[] => {
      if (change.op === 'put') return ['put', indexOf(this.#table(change.table)), change.key, JSON.stringify(change.row)];
      if (change.op === 'delete') return ['delete', indexOf(this.#table(change.table)), change.key];
      if (!Number.isSafeInteger(change.order) || change.order < 0) throw new RangeError(`${change.order} is not an order`);
      const index = indexOf(this.#list(change.list), this.#times(change.list));
      if (change.op === 'delist') return ['delist', index, change.member, String(change.order)];
      if (!Number.isSafeInteger(change.atSec)) throw new RangeError(`${change.atSec} is not a time`);
      return ['enlist', index, change.member, String(change.order), String(change.atSec), change.list];
    });
    return { keys, words };
  }

  async #page(
    list: string,
    { fromSec, toSec }: ListRange,
    kind: 'offset' | 'before',
    value: string,
    limit: number,
  ): Promise<{ members: ListMember[]; total: number }> {
    const range = [fromSec === undefined ? '-inf' : String(fromSec), toSec === undefined ? '+inf' : String(toSec)];
    const reply = await answered(this.#redis.eval(PAGE, 2, this.#list(list), this.#times(list), ...range, kind, value, limit));
    const [total, ...found] = reply as [number, ...string[]];
    const members = Array.from({ length: found.length / 2 }, (_, index) => ({ member: found[index * 2]!, order: Number(found[index * 2 + 1]) }));
    return { members, total };
  }

  #key(name: string): string {
    return `${this.#tag}:${name}`;
  }

  #table(table: string): string {
    return this.#key(`table:${table}`);
  }

  #list(list: string): string {
    return this.#key(`list:${list}`);
  }

  #times(list: string): string {
    return this.#key(`times:${list}`);
  }
}

const rowOf = (text: string | null | undefined): Row | null => (text === null || text === undefined ? null : (JSON.parse(text) as Row));

/** "position mark generation". */
function partsOf(stored: string): { position: Position | null; mark: string | null; generation: string | null } {
  const [position, mark, generation] = stored.split(' ');
  return { position: position || null, mark: mark ?? null, generation: generation ?? null };
}
