import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { must } from '../../../domain/must.ts';

/** The row of a list as `find` returns it. `tail` and `last` belong to its leaves, the rest to its bits. */
export type StoredList = [
  id: number,
  tail: number,
  last: string,
  chunk: number,
  counted: number,
  counts: Uint8Array,
  bits: Uint8Array,
];

export const LIST_COLUMNS = 'id, tail, last, chunk, counted, counts, bits';

/** The tables of a set of lists, by its id. */
export const listTables = (set: number): { lists: string; leaves: string; chunks: string } => ({
  lists: `lists_${set}`,
  leaves: `list_leaves_${set}`,
  chunks: `list_chunks_${set}`,
});

/** Statements of a list writer on the tables of one set, which are created if absent. */
export class ListSet {
  readonly #db: DatabaseSync;
  readonly #id: number;
  readonly sql: Record<
    'findById' | 'make' | 'save' | 'findLeaf' | 'saveLeaf' | 'findChunk' | 'saveChunk' | 'dropChunk',
    StatementSync
  >;
  #find: StatementSync | null = null;

  constructor(db: DatabaseSync, id: number) {
    this.#db = db;
    this.#id = id;
    const { lists, leaves, chunks } = listTables(id);
    db.exec(`
      CREATE TABLE IF NOT EXISTS ${lists} (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, tail INTEGER NOT NULL, last TEXT NOT NULL,
        chunk INTEGER NOT NULL, counted INTEGER NOT NULL, counts BLOB NOT NULL, bits BLOB NOT NULL
      );
      CREATE TABLE IF NOT EXISTS ${leaves} (id INTEGER PRIMARY KEY, members TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS ${chunks} (id INTEGER PRIMARY KEY, bits BLOB NOT NULL);`);
    const arrays = (sql: string): StatementSync => {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      return statement;
    };
    this.sql = {
      findById: arrays(`SELECT ${LIST_COLUMNS} FROM ${lists} WHERE id = ? AND name = ?`),
      make: db.prepare(
        `INSERT INTO ${lists} (name, tail, last, chunk, counted, counts, bits) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ),
      save: db.prepare(
        `UPDATE ${lists} SET tail = ?, last = ?, chunk = ?, counted = ?, counts = ?, bits = ? WHERE id = ?`,
      ),
      findLeaf: arrays(`SELECT members FROM ${leaves} WHERE id = ?`),
      saveLeaf: db.prepare(
        `INSERT INTO ${leaves} (id, members) VALUES (?, ?) ON CONFLICT DO UPDATE SET members = excluded.members`,
      ),
      findChunk: arrays(`SELECT bits FROM ${chunks} WHERE id = ?`),
      saveChunk: db.prepare(
        `INSERT INTO ${chunks} (id, bits) VALUES (?, ?) ON CONFLICT DO UPDATE SET bits = excluded.bits`,
      ),
      dropChunk: db.prepare(`DELETE FROM ${chunks} WHERE id = ?`),
    };
  }

  /**
   * From now on lists are found by name on disk. Built once after many lists, the index costs a fraction of what it
   * would per list.
   */
  index(): void {
    if (this.#find) return;
    const { lists } = listTables(this.#id);
    this.#db.exec(`CREATE UNIQUE INDEX IF NOT EXISTS list_names_${this.#id} ON ${lists} (name)`);
    this.#find = this.#db.prepare(`SELECT ${LIST_COLUMNS} FROM ${lists} WHERE name = ?`);
    this.#find.setReturnArrays(true);
  }

  find(name: string): StoredList | undefined {
    this.index();
    return must(this.#find).get(name) as unknown as StoredList | undefined;
  }

  findById(id: number, name: string): StoredList | undefined {
    return this.sql.findById.get(id, name) as unknown as StoredList | undefined;
  }
}
