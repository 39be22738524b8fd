import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { arrayQuery, type Query } from '../database.ts';

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
  readonly sql: Record<'make' | 'save' | 'saveLeaf' | 'saveChunk' | 'dropChunk', StatementSync>;
  readonly #findById: Query<StoredList>;
  readonly #findLeaf: Query<[members: string]>;
  readonly #findChunk: Query<[bits: Uint8Array]>;
  #find: Query<StoredList> | null = null;

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
    this.#findById = arrayQuery(db, `SELECT ${LIST_COLUMNS} FROM ${lists} WHERE id = ? AND name = ?`);
    this.#findLeaf = arrayQuery(db, `SELECT members FROM ${leaves} WHERE id = ?`);
    this.#findChunk = arrayQuery(db, `SELECT bits FROM ${chunks} WHERE id = ?`);
    this.sql = {
      make: db.prepare(
        `INSERT INTO ${lists} (name, tail, last, chunk, counted, counts, bits) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ),
      save: db.prepare(
        `UPDATE ${lists} SET tail = ?, last = ?, chunk = ?, counted = ?, counts = ?, bits = ? WHERE id = ?`,
      ),
      saveLeaf: db.prepare(
        `INSERT INTO ${leaves} (id, members) VALUES (?, ?) ON CONFLICT DO UPDATE SET members = excluded.members`,
      ),
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
  index(): Query<StoredList> {
    if (this.#find) return this.#find;
    const { lists } = listTables(this.#id);
    this.#db.exec(`CREATE UNIQUE INDEX IF NOT EXISTS list_names_${this.#id} ON ${lists} (name)`);
    this.#find = arrayQuery(this.#db, `SELECT ${LIST_COLUMNS} FROM ${lists} WHERE name = ?`);
    return this.#find;
  }

  find(name: string): StoredList | undefined {
    return this.index().get(name);
  }

  findById(id: number, name: string): StoredList | undefined {
    return this.#findById.get(id, name);
  }

  leaf(key: number): string | undefined {
    return this.#findLeaf.get(key)?.[0];
  }

  chunk(key: number): Uint8Array | undefined {
    return this.#findChunk.get(key)?.[0];
  }
}
