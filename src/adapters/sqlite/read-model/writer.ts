import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TimeOfRow } from '../../../ports/read-model/projection.ts';
import type { OwnedRows } from '../../../ports/read-model/read-model.ts';
import { hasTable, inTransaction, query } from '../database.ts';
import { Archiver } from './archiver.ts';
import type { Apply, ChangeTarget } from './changes.ts';
import { ListWriter, type ListWriterOptions } from './list-writer.ts';
import { listTables } from './list-set.ts';
import { NextTable, ServedTable, type RowTable } from './row-table.ts';
import { DROPPED_TABLES, droppedTablesIn, NEXT, nextRowTable, openForWriting, rowTable, rowTableId } from './schema.ts';
import { messageOf } from '../../../runtime/util/message-of.ts';
import { must } from '../../../domain/values/must.ts';

/** Random, so that no two histories share a name, even in a file that was started over. Below 2^53. */
const NEW_GENERATION = 'abs(random() % 9007199254740991)';

const LOST = 'what was built of it is lost';

/** Rows of dropped tables and lists removed at a time, so that applies in between do not wait long. */
const SWEEP_ROWS = 2_000;

/** An apply that passes its changes to the given target. */
export type GivenApply = Apply<(target: ChangeTarget) => void>;

/** The only writer of the read model. Synchronous, so it runs in a separate thread. */
export class ReadModelWriter {
  readonly #db: DatabaseSync;
  readonly #served: Target<ServedTable>;
  readonly #next: Target<NextTable>;
  readonly #saveCheckpoint: StatementSync;
  /** Projections whose rows this process is building, without losses. */
  readonly #building = new Set<string>();
  readonly #archiver: Archiver;

  constructor(file: string) {
    this.#db = openForWriting(file);
    this.#archiver = new Archiver(this.#db, file);
    this.#saveCheckpoint = this.#db.prepare(
      `INSERT INTO checkpoints (projection, position, generation) VALUES (?, ?, ${NEW_GENERATION}) ON CONFLICT DO UPDATE SET position = excluded.position`,
    );
    this.#served = new Target(this.#db, { mark: '', areHeld: false }, (id) => new ServedTable(this.#db, rowTable(id)));
    this.#next = new Target(this.#db, { mark: NEXT, areHeld: true }, (id) => new NextTable(this.#db, nextRowTable(id)));
  }

  /** Applies each of them atomically; all in one commit if none fails. Returns null or the error message for each. */
  apply(batch: readonly GivenApply[]): (string | null)[] {
    const errors = new Map<GivenApply, string>();
    this.#applyServed(
      batch.filter(({ isNext }) => !isNext),
      errors,
    );
    this.#applyNext(
      batch.filter(({ isNext }) => isNext),
      errors,
    );
    return batch.map((one) => errors.get(one) ?? null);
  }

  clear(owned: OwnedRows): void {
    this.#transact(() => {
      this.#drop(owned, '', rowTable);
      this.#dropBuilt(owned);
    });
  }

  /**
   * Records that the projection's rows are being rebuilt, so that it is known after a restart. Rows built by an earlier
   * process are useless.
   */
  beginNext(owned: OwnedRows): void {
    if (this.#building.has(owned.projection)) return;
    this.#transact(() => {
      this.#dropBuilt(owned);
      this.#saveCheckpoint.run(NEXT + owned.projection, '');
    });
    this.#building.add(owned.projection);
  }

  /** As texts, in the order of the keys; null where there is no row. */
  nextRows(table: string, keys: readonly string[]): (string | null)[] {
    const rows = this.#next.opened(table);
    return keys.map((key) => rows?.get(key) ?? null);
  }

  dropNext(owned: OwnedRows): void {
    this.#transact(() => this.#dropBuilt(owned));
  }

  /** Serves the newly built rows and drops the ones served so far. */
  promote(owned: OwnedRows): void {
    const { projection, tables, lists } = owned;
    this.#transact(() => {
      const built = this.#db
        .prepare("SELECT position FROM checkpoints WHERE projection = ? AND position <> ''")
        .get(NEXT + projection);
      if (!built) throw new Error(`nothing was built of ${projection}`);
      if (!this.#building.has(projection)) throw new Error(LOST);
      this.#next.lists.settle(lists);
      for (const name of tables) this.#next.opened(name)?.index();
      this.#drop(owned, '', rowTable);
      this.#db.prepare('UPDATE checkpoints SET projection = ? WHERE projection = ?').run(projection, NEXT + projection);
      for (const name of tables) {
        const id = rowTableId(this.#db, name);
        if (this.#next.opened(name))
          this.#db.exec(`ALTER TABLE ${nextRowTable(must(id))} RENAME TO ${rowTable(must(id))}`);
      }
      for (const prefix of lists)
        this.#db.prepare('UPDATE list_sets SET prefix = ? WHERE prefix = ?').run(prefix, NEXT + prefix);
      this.#next.forgetOwned(owned);
    });
    this.#building.delete(projection);
  }

  /** Removes some dropped data; false when nothing is left. */
  sweep(): boolean {
    return this.#db.isOpen && (this.#archiver.sweep() || this.#sweepTable());
  }

  /** Like `Archiver.archive`. */
  archive(table: string, timeOf: TimeOfRow, beforeSec: number, after: number): number | null {
    const id = this.#db.isOpen ? rowTableId(this.#db, table) : undefined;
    return id !== undefined && hasTable(this.#db, rowTable(id))
      ? this.#archiver.archive(rowTable(id), timeOf, beforeSec, after)
      : null;
  }

  close(): void {
    this.#archiver.close();
    if (this.#db.isOpen) this.#db.close();
  }

  #applyServed(batch: readonly GivenApply[], errors: Map<GivenApply, string>): void {
    if (batch.length === 0) return;
    try {
      inTransaction(this.#db, () => {
        for (const { projection, changes, checkpoint } of batch) {
          changes(this.#served);
          this.#saveCheckpoint.run(projection, checkpoint);
        }
        this.#served.lists.flush();
      });
    } catch (error) {
      this.#served.forget();
      if (batch.length === 1) errors.set(must(batch[0]), messageOf(error));
      else for (const one of batch) this.#applyServed([one], errors);
    }
  }

  /**
   * Much of what is being built is in memory and cannot be rolled back: when one apply fails, everything built is lost.
   */
  #applyNext(batch: readonly GivenApply[], errors: Map<GivenApply, string>): void {
    const building = batch.filter(({ projection }) => this.#building.has(projection));
    for (const one of batch) if (!building.includes(one)) errors.set(one, LOST);
    if (building.length === 0) return;
    try {
      this.#transact(() => {
        for (const { projection, changes, checkpoint } of building) {
          changes(this.#next);
          this.#saveCheckpoint.run(NEXT + projection, checkpoint);
        }
        this.#next.lists.flush();
      });
    } catch (error) {
      for (const one of building) errors.set(one, messageOf(error));
    }
  }

  #transact(work: () => void): void {
    try {
      inTransaction(this.#db, work);
    } catch (error) {
      this.#served.forget();
      this.#next.forget();
      this.#building.clear();
      throw error;
    }
  }

  #dropBuilt(owned: OwnedRows): void {
    this.#building.delete(owned.projection);
    this.#next.forgetOwned(owned);
    this.#drop(owned, NEXT, nextRowTable);
  }

  /** Invisible at once; `sweep` removes the data. */
  #drop({ projection, tables, lists }: OwnedRows, mark: string, tableOf: (id: number) => string): void {
    this.#db.prepare('DELETE FROM checkpoints WHERE projection = ?').run(mark + projection);
    for (const name of tables) {
      const id = rowTableId(this.#db, name);
      if (id !== undefined) this.#dropTable(tableOf(id));
    }
    for (const prefix of lists) {
      const removeSet = query<{ id: number }>(this.#db, 'DELETE FROM list_sets WHERE prefix = ? RETURNING id');
      const set = removeSet.get(mark + prefix);
      if (set) Object.values(listTables(set.id)).forEach((table) => this.#dropTable(table));
    }
    this.#served.forget();
  }

  #dropTable(table: string): void {
    if (hasTable(this.#db, table))
      this.#db.exec(`ALTER TABLE ${table} RENAME TO ${DROPPED_TABLES}${this.#freeNumber()}`);
  }

  #sweepTable(): boolean {
    const table = droppedTablesIn(this.#db)[0];
    if (table === undefined) return false;
    inTransaction(this.#db, () => {
      const { changes } = this.#db
        .prepare(`DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} LIMIT ${SWEEP_ROWS})`)
        .run();
      if (changes === 0) this.#db.exec(`DROP TABLE ${table}`);
    });
    return true;
  }

  #freeNumber(): number {
    return 1 + Math.max(0, ...droppedTablesIn(this.#db).map((name) => Number(name.slice(DROPPED_TABLES.length))));
  }
}

/** Where changes go: the served rows, or those being built beside them. */
class Target<Table extends RowTable> implements ChangeTarget {
  readonly lists: ListWriter;
  readonly #db: DatabaseSync;
  readonly #open: (id: number) => Table;
  readonly #tables = new Map<string, Table>();
  #lastKey: string | null = null;
  #lastId = 0;

  constructor(db: DatabaseSync, lists: ListWriterOptions, open: (id: number) => Table) {
    this.#db = db;
    this.lists = new ListWriter(db, lists);
    this.#open = open;
  }

  put(table: string, key: string, json: string): void {
    this.#lastId = this.#table(table).put(key, json);
    this.#lastKey = key;
  }

  remove(table: string, key: string): void {
    this.#table(table).remove(key);
  }

  enlist(lists: readonly string[], member: string, order: number, atSec: number): void {
    this.lists.enlist(lists, member, order, atSec, member === this.#lastKey ? this.#lastId : 0);
  }

  delist(lists: readonly string[], member: string, order: number): void {
    for (const list of lists) this.lists.delist(list, member, order);
  }

  forget(): void {
    this.lists.forget();
    this.#tables.clear();
    this.#lastKey = null;
  }

  forgetOwned({ tables, lists }: OwnedRows): void {
    this.lists.forgetSets(lists);
    for (const table of tables) this.#tables.delete(table);
    this.#lastKey = null;
  }

  /** Undefined if nothing was written to the table. */
  opened(name: string): Table | undefined {
    return this.#tables.get(name);
  }

  #table(name: string): Table {
    const known = this.#tables.get(name);
    if (known) return known;
    this.#db.prepare('INSERT OR IGNORE INTO row_tables (name) VALUES (?)').run(name);
    const table = this.#open(must(rowTableId(this.#db, name)));
    this.#tables.set(name, table);
    return table;
  }
}
