import type { ListPlace, Projection, RowRef, RowReader } from '../../ports/read-model/projection.ts';
import type { Change, ReadModel, Row, RowChange, Table } from '../../ports/read-model/read-model.ts';
import type { RowCache } from './row-cache.ts';

type Listed = NonNullable<Projection['listed']>;

interface Held {
  row: Row | null;
  /** The row before the batch; undefined if it was not requested. */
  before: Row | null | undefined;
  isChanged: boolean;
}

/**
 * Rows of one table. The latest row is usually requested again, and a look-up among thousands of random keys costs as
 * much as processing the row.
 */
class HeldRows {
  readonly byKey = new Map<string, Held>();
  #lastKey = '';
  #last: Held | undefined;

  get(key: string): Held | undefined {
    if (this.#last !== undefined && key === this.#lastKey) return this.#last;
    this.#lastKey = key;
    return (this.#last = this.byKey.get(key));
  }

  add(key: string, held: Held): void {
    this.byKey.set(key, held);
    this.#lastKey = key;
    this.#last = held;
  }
}

/** The rows that one batch of one projection reads and writes. Only the final version of a row is written. */
export class BatchRows {
  readonly #readModel: Pick<ReadModel, 'getMany'>;
  readonly #cache: RowCache;
  readonly #listed: Listed;
  readonly #tables = new Map<string, HeldRows>();
  /** Requested keys that are not loaded, by table. */
  #missing: Map<string, Set<string>> | null = null;

  constructor(readModel: Pick<ReadModel, 'getMany'>, cache: RowCache, listed: Listed = {}) {
    this.#readModel = readModel;
    this.#cache = cache;
    this.#listed = listed;
  }

  /** Throws for a row that was not loaded, because the projection did not name it. */
  readonly read: RowReader = <Kept extends object>(table: Table<Kept>, key: string): Kept | null => {
    const held = this.#tables.get(table)?.get(key);
    if (held === undefined) throw new Error(`row of ${table} was read but not named beforehand`);
    return held.row as Kept | null;
  };

  /** Requests rows that will be read or written; `load` loads them. */
  want(refs: readonly RowRef[]): void {
    for (const { table, key, isNew } of refs) {
      const rows = this.#rowsOf(table);
      if (rows.get(key)?.before !== undefined) continue;
      const cached = isNew === true ? null : this.#cache.get(table, key);
      if (cached !== undefined) hold(rows, key, cached);
      else this.#miss(table, key);
    }
  }

  /** Null if every row is loaded, so that the caller need not wait. */
  load(): Promise<void> | null {
    const missing = this.#missing;
    this.#missing = null;
    return missing && this.#fetch(missing);
  }

  write(changes: readonly RowChange[]): void {
    for (const change of changes) this.#write(change);
  }

  /** All changes of the batch. Of several changes to one row, the last one counts. */
  changes(): Change[] {
    const changes: Change[] = [];
    for (const [table, { byKey }] of this.#tables) {
      const placesOf = this.#listed[table];
      for (const [key, { row, before, isChanged }] of byKey) {
        if (!isChanged) continue;
        // A row created and deleted within the batch is left out.
        if (row) changes.push({ op: 'put', table, key, row });
        else if (before !== null) changes.push({ op: 'delete', table, key });
        if (placesOf) move(changes, key, before ? placesOf(before) : NOWHERE, row ? placesOf(row) : NOWHERE);
      }
    }
    return changes;
  }

  /** Call it after the commit. Only rows that projections read are cached. */
  commit(): void {
    for (const [table, { byKey }] of this.#tables) {
      for (const [key, { row, before }] of byKey) {
        if (before !== undefined) this.#cache.keep(table, key, row);
        // A row may be written without having been read, while an earlier batch's reading of it is still cached.
        else this.#cache.refresh(table, key, row);
      }
    }
  }

  #write(change: RowChange): void {
    const rows = this.#rowsOf(change.table);
    const row = change.op === 'put' ? change.row : null;
    const held = rows.get(change.key);
    if (held) {
      held.row = row;
      held.isChanged = true;
      return;
    }
    if (this.#listed[change.table])
      throw new Error(`row of ${change.table} is listed, so it must be named before it is written`);
    rows.add(change.key, { row, before: undefined, isChanged: true });
  }

  #rowsOf(table: string): HeldRows {
    let rows = this.#tables.get(table);
    if (!rows) this.#tables.set(table, (rows = new HeldRows()));
    return rows;
  }

  #miss(table: string, key: string): void {
    this.#missing ??= new Map();
    let keys = this.#missing.get(table);
    if (!keys) this.#missing.set(table, (keys = new Set()));
    keys.add(key);
  }

  async #fetch(missing: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
    for (const [table, keys] of missing) {
      const found = await this.#readModel.getMany(table, [...keys]);
      const rows = this.#rowsOf(table);
      let index = 0;
      for (const key of keys) hold(rows, key, found[index++] ?? null);
    }
  }
}

function hold(rows: HeldRows, key: string, before: Row | null): void {
  const written = rows.get(key);
  if (written) written.before = before;
  else rows.add(key, { row: before, before, isChanged: false });
}

const NOWHERE: readonly ListPlace[] = [];

/** A member keeps its place in a list that shows it before and after. */
function move(changes: Change[], member: string, before: readonly ListPlace[], after: readonly ListPlace[]): void {
  for (const { lists, order } of before) {
    const left = without(lists, after);
    if (left.length > 0) changes.push({ op: 'delist', lists: left, member, order });
  }
  for (const { lists, order, atSec } of after) {
    const joined = without(lists, before);
    if (joined.length > 0) changes.push({ op: 'enlist', lists: joined, member, order, atSec });
  }
}

/** Rows are usually added to their lists, or stay in all of them. */
function without(lists: readonly string[], places: readonly ListPlace[]): readonly string[] {
  if (places.length === 0) return lists;
  if (places.some((place) => place.lists === lists)) return [];
  return lists.filter((list) => !places.some((place) => place.lists.includes(list)));
}
