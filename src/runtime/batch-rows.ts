import type { Projection, RowRef } from '../ports/projection.ts';
import type { Change, ReadModel, Row } from '../ports/read-model.ts';
import type { RowCache } from './row-cache.ts';

type Listed = NonNullable<Projection['listed']>;
type Put = Extract<Change, { op: 'put' | 'delete' }>;
type Place = Extract<Change, { op: 'enlist' | 'delist' }>;

interface Held {
  row: Row | null;
  /** As it was before the batch; undefined when nobody asked. */
  before: Row | null | undefined;
  isChanged: boolean;
}

/** The rows that one batch of one projection reads and writes. What came of a row is known at the end only, so each is written once. */
export class BatchRows {
  readonly #readModel: Pick<ReadModel, 'getMany'>;
  readonly #cache: RowCache;
  readonly #listed: Listed;
  readonly #tables = new Map<string, Map<string, Held>>();
  readonly #places = new Map<string, Place>();

  constructor(readModel: Pick<ReadModel, 'getMany'>, cache: RowCache, listed: Listed = {}) {
    this.#readModel = readModel;
    this.#cache = cache;
    this.#listed = listed;
  }

  /** Throws for a row that was not loaded: the projection did not name it. */
  readonly read = (table: string, key: string): Row | null => {
    const held = this.#tables.get(table)?.get(key);
    if (held === undefined) throw new Error(`row of ${table} was read but not named beforehand`);
    return held.row;
  };

  /** Null when every row is at hand, so that the caller need not wait. */
  load(refs: readonly RowRef[]): Promise<void> | null {
    let missing: Map<string, Set<string>> | null = null;
    for (const { table, key, isNew } of refs) {
      const rows = this.#rowsOf(table);
      if (rows.get(key)?.before !== undefined) continue;
      const cached = isNew === true ? null : this.#cache.get(table, key);
      if (cached !== undefined) {
        this.#hold(rows, key, cached);
        continue;
      }
      missing ??= new Map();
      let keys = missing.get(table);
      if (!keys) missing.set(table, (keys = new Set()));
      keys.add(key);
    }
    return missing && this.#fetch(missing);
  }

  write(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.op === 'put' || change.op === 'delete') this.#write(change);
      else this.#places.set(`${change.list}\0${change.member}\0${change.order}`, change);
    }
  }

  /** Everything that the batch changes: of several changes to one row or one place in a list, the last one decides. */
  changes(): Change[] {
    const changes: Change[] = [];
    for (const [table, rows] of this.#tables) {
      const placesOf = this.#listed[table];
      for (const [key, { row, before, isChanged }] of rows) {
        if (!isChanged) continue;
        // A row that came and went within the batch was never there.
        if (row) changes.push({ op: 'put', table, key, row });
        else if (before !== null) changes.push({ op: 'delete', table, key });
        if (placesOf) move(changes, key, before ? placesOf(before) : [], row ? placesOf(row) : []);
      }
    }
    changes.push(...this.#places.values());
    return changes;
  }

  /** Once they are committed. Only what projections read is worth keeping. */
  commit(): void {
    for (const [table, rows] of this.#tables) {
      for (const [key, { row, before }] of rows) {
        if (before !== undefined) this.#cache.keep(table, key, row);
        // A row may be written without having been read, while an earlier batch's reading of it is still cached.
        else this.#cache.refresh(table, key, row);
      }
    }
  }

  #write(change: Put): void {
    const rows = this.#rowsOf(change.table);
    const row = change.op === 'put' ? change.row : null;
    const held = rows.get(change.key);
    if (held) {
      held.row = row;
      held.isChanged = true;
      return;
    }
    if (this.#listed[change.table]) throw new Error(`row of ${change.table} is listed, so it must be named before it is written`);
    rows.set(change.key, { row, before: undefined, isChanged: true });
  }

  #hold(rows: Map<string, Held>, key: string, before: Row | null): void {
    const written = rows.get(key);
    if (written) written.before = before;
    else rows.set(key, { row: before, before, isChanged: false });
  }

  #rowsOf(table: string): Map<string, Held> {
    let rows = this.#tables.get(table);
    if (!rows) this.#tables.set(table, (rows = new Map<string, Held>()));
    return rows;
  }

  async #fetch(missing: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
    for (const [table, keys] of missing) {
      const found = await this.#readModel.getMany(table, [...keys]);
      const rows = this.#rowsOf(table);
      let index = 0;
      for (const key of keys) this.#hold(rows, key, found[index++] ?? null);
    }
  }
}

/** A member keeps its place in a list that shows it before and after. */
function move(
  changes: Change[],
  member: string,
  before: readonly { list: string; order: number; atSec: number }[],
  after: readonly { list: string; order: number; atSec: number }[],
): void {
  for (const { list, order } of before) if (!after.some((other) => other.list === list)) changes.push({ op: 'delist', list, member, order });
  for (const { list, order, atSec } of after)
    if (!before.some((other) => other.list === list)) changes.push({ op: 'enlist', list, member, order, atSec });
}
