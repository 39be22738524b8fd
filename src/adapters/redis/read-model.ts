import { randomUUID } from 'node:crypto';
import { type Position, StoreUnavailable } from '../../ports/event-store.ts';
import {
  type Change,
  type ListMember,
  type ListRange,
  type NextRows,
  type OwnedRows,
  type ReadModel,
  ReadModelMoved,
  type Row,
} from '../../ports/read-model.ts';
import { answered, connectRedis, disconnectRedis, type RedisClient, type RedisConnectionOptions } from './connection.ts';
import { DroppedRows } from './dropped-rows.ts';
import { APPLY, BEGIN, PAGE, SWITCH } from './read-model-scripts.ts';
import { nextOf, RowKeys, setOf } from './row-keys.ts';
import { WriteMarks } from './write-marks.ts';

/** Opens the look-ups in Redis. Nothing in it is authoritative: after a loss the projections fill it again from the ledger. */
export async function openRedisReadModel(options: RedisConnectionOptions): Promise<ReadModel> {
  return new RedisReadModel(await connectRedis(options), options.prefix ?? 'quittance');
}

type GenerationOf = (name: string) => string;

class RedisReadModel implements ReadModel {
  readonly #redis: RedisClient;
  readonly #keys: RowKeys;
  readonly #dropped: DroppedRows;
  readonly #marks = new Map<string, WriteMarks>();
  readonly #applying = new Set<Promise<void>>();
  #closed = false;

  constructor(redis: RedisClient, prefix: string) {
    this.#redis = redis;
    this.#keys = new RowKeys(prefix);
    this.#dropped = new DroppedRows(redis, this.#keys);
  }

  async checkpoint(projection: string): Promise<Position | null> {
    return partsOf(await this.#stored(projection)).position;
  }

  async generation(projection: string): Promise<string | null> {
    return partsOf(await this.#stored(projection)).generation;
  }

  begin(projection: string): Promise<Position | null> {
    this.#dropped.sweep();
    return this.#begin(projection, '');
  }

  apply(projection: string, changes: readonly Change[], checkpoint: Position): Promise<void> {
    return this.#track(() => this.#apply(projection, changes, checkpoint, (name) => this.#keys.served(name)));
  }

  async get(table: string, key: string): Promise<Row | null> {
    return (await this.getMany(table, [key]))[0] ?? null;
  }

  async getMany(table: string, keys: readonly string[]): Promise<(Row | null)[]> {
    if (keys.length === 0) return [];
    return (await this.#ofServed(table, (generation) => this.#redis.hmget(this.#keys.table(table, generation), ...keys))).map(rowOf);
  }

  /** A short page is the last one: rows that are deleted between the reading of their keys and theirs are made up for. */
  async scan(table: string, { afterKey, limit }: { readonly afterKey?: string; readonly limit: number }): Promise<{ key: string; row: Row }[]> {
    const found: { key: string; row: Row }[] = [];
    for (let from = afterKey === undefined ? '-' : `(${afterKey}`; found.length < limit;) {
      const missing = limit - found.length;
      const page = await this.#ofServed(table, (generation) =>
        this.#redis.zrange(this.#keys.ordered(table, generation), from, '+', 'BYLEX', 'LIMIT', 0, missing),
      );
      const rows = await this.getMany(table, page);
      found.push(...page.flatMap((key, index) => (rows[index] ? [{ key, row: rows[index] }] : [])));
      if (page.length < missing) break;
      from = `(${page.at(-1)!}`;
    }
    return found;
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

  async clear(owned: OwnedRows): Promise<void> {
    await this.#switch(owned, 'clear', []);
    this.#marks.delete(owned.projection);
  }

  next(owned: OwnedRows): NextRows {
    const own = nextOf(owned.projection);
    const generation = (): string => this.#keys.served(own);
    return {
      isBegun: async () => (await answered(this.#redis.hexists(this.#keys.generations, own))) === 1,
      begin: () => this.#begin(own, own),
      apply: (changes, checkpoint) => this.#track(() => this.#apply(own, changes, checkpoint, generation)),
      getMany: async (table, keys) =>
        keys.length === 0 ? [] : (await answered(this.#redis.hmget(this.#keys.table(table, generation()), ...keys))).map(rowOf),
      promote: () => this.#switch(owned, 'promote', this.#marksOf(own).next().expected ?? []),
      drop: () => this.#switch(owned, 'drop', []),
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#dropped.close();
    await Promise.allSettled(this.#applying);
    await disconnectRedis(this.#redis);
  }

  async #begin(projection: string, next: string): Promise<Position | null> {
    const keys = [this.#keys.checkpoints, this.#keys.generations];
    const reply = await answered(this.#redis.eval(BEGIN, keys.length, ...keys, projection, randomUUID(), next, randomUUID()));
    const [stored, generations] = reply as [string, string[]];
    this.#keys.sawAll(generations);
    const { position, mark } = partsOf(stored);
    this.#marksOf(projection).begin(mark!);
    return position;
  }

  async #switch({ projection, tables, lists }: OwnedRows, what: 'promote' | 'clear' | 'drop', expected: readonly string[]): Promise<void> {
    const keys = [this.#keys.checkpoints, this.#keys.generations, this.#keys.dropped];
    const [mark, empty] = [randomUUID(), randomUUID()];
    const names = [...tables.map((name) => `table ${name}`), ...lists.map((name) => `set ${name}`)];
    const words = [projection, nextOf(projection), what, mark, empty, String(expected.length), ...expected, ...names];
    const next = this.#keys.served(nextOf(projection));
    const done = await answered(this.#redis.eval(SWITCH, keys.length, ...keys, ...words));
    this.#marks.delete(nextOf(projection));
    if (done !== 1) throw new ReadModelMoved(`what was built of projection ${projection} is not as it was left`);
    if (what !== 'drop') for (const name of [...tables, ...lists]) this.#keys.saw(name, what === 'promote' ? next : empty);
    if (what === 'promote') this.#marksOf(projection).begin(mark);
    this.#dropped.sweep();
  }

  /** Read with the generation that was known, and asked for right after: when it is still that one, it was then, too. */
  async #ofServed<Found>(name: string, read: (generation: string) => Promise<Found>): Promise<Found> {
    for (;;) {
      const reading = read(this.#keys.served(name));
      const [found, generation] = await answered(Promise.all([reading, this.#redis.hget(this.#keys.generations, name)]));
      if (!this.#keys.saw(name, generation ?? '')) return found;
    }
  }

  #track(apply: () => Promise<void>): Promise<void> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the read model is closed'));
    const applying = apply();
    this.#applying.add(applying);
    const forget = (): void => void this.#applying.delete(applying);
    applying.then(forget, forget);
    return applying;
  }

  async #apply(projection: string, changes: readonly Change[], checkpoint: Position, generationOf: GenerationOf): Promise<void> {
    const { keys, words } = this.#written(changes, generationOf);
    const marks = this.#marksOf(projection);
    const { expected, mark } = marks.next();
    let done: unknown;
    try {
      const guards = [String(expected?.length ?? 0), ...(expected ?? [])];
      // As one array: a large batch has more words than a function takes arguments.
      const sent = [APPLY, keys.length, ...keys, projection, `${checkpoint} ${mark}`, ...guards, ...words];
      done = await answered(this.#redis.call('eval', sent));
    } catch (error) {
      marks.unanswered();
      throw error;
    }
    if (done === 1) return marks.done(mark);
    marks.refused(mark);
    throw new ReadModelMoved(`the rows of projection ${projection} are not as they were left`);
  }

  async #stored(projection: string): Promise<string> {
    return (await answered(this.#redis.hget(this.#keys.checkpoints, projection))) ?? '';
  }

  #marksOf(projection: string): WriteMarks {
    const marks = this.#marks.get(projection) ?? new WriteMarks();
    this.#marks.set(projection, marks);
    return marks;
  }

  /** Checks everything before anything is sent: a script is not undone half way. */
  #written(changes: readonly Change[], generationOf: GenerationOf): { keys: string[]; words: string[] } {
    const keys = [this.#keys.checkpoints];
    const indexes = new Map<string, string>();
    const indexOf = (...named: readonly string[]): string => {
      const known = indexes.get(named[0]!);
      if (known) return known;
      const index = String(keys.push(...named) - named.length + 1);
      indexes.set(named[0]!, index);
      return index;
    };
    const words = changes.flatMap((change): string[] => {
      if (change.op === 'put' || change.op === 'delete') {
        const generation = generationOf(change.table);
        const index = indexOf(this.#keys.table(change.table, generation), this.#keys.ordered(change.table, generation));
        return change.op === 'put' ? ['put', index, change.key, JSON.stringify(change.row)] : ['delete', index, change.key];
      }
      if (!Number.isSafeInteger(change.order) || change.order < 0) throw new RangeError(`${change.order} is not an order`);
      if (change.op === 'enlist' && !Number.isSafeInteger(change.atSec)) throw new RangeError(`${change.atSec} is not a time`);
      return change.lists.flatMap((list) => {
        const set = setOf(list);
        const generation = generationOf(set);
        const index = indexOf(this.#keys.list(list, generation), this.#keys.times(list, generation), this.#keys.names(set, generation));
        const { op, member, order } = change;
        return op === 'delist' ? [op, index, member, String(order)] : [op, index, member, String(order), String(change.atSec), list];
      });
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
    const set = setOf(list);
    for (;;) {
      const generation = this.#keys.served(set);
      const keys = [this.#keys.list(list, generation), this.#keys.times(list, generation), this.#keys.generations];
      const reply = await answered(this.#redis.eval(PAGE, keys.length, ...keys, ...range, kind, value, limit, set, generation));
      const [total, ...found] = reply as [number, ...string[]];
      if (total < 0) {
        this.#keys.saw(set, found[0]!);
        continue;
      }
      const members = Array.from({ length: found.length / 2 }, (_, index) => ({ member: found[index * 2]!, order: Number(found[index * 2 + 1]) }));
      return { members, total };
    }
  }
}

const rowOf = (text: string | null | undefined): Row | null => (text === null || text === undefined ? null : (JSON.parse(text) as Row));

/** "position mark generation". */
function partsOf(stored: string): { position: Position | null; mark: string | null; generation: string | null } {
  const [position, mark, generation] = stored.split(' ');
  return { position: position || null, mark: mark ?? null, generation: generation ?? null };
}
