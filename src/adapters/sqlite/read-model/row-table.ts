import { randomBytes } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { arrayQuery, type Query } from '../database.ts';
import { KeyIndex } from './key-index.ts';
import { must } from '../../../domain/values/must.ts';

/** The rows of one table, as texts by key. */
export interface RowTable {
  /** Returns the id of the row. */
  put(key: string, json: string): number;
  remove(key: string): void;
}

/** Served rows, which can be found by key on disk at any time. */
export class ServedTable implements RowTable {
  readonly #insert: StatementSync;
  readonly #update: Query<[id: number]>;
  readonly #remove: StatementSync;

  constructor(db: DatabaseSync, name: string) {
    db.exec(`CREATE TABLE IF NOT EXISTS ${name} (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, row TEXT NOT NULL)`);
    this.#insert = db.prepare(`INSERT INTO ${name} (key, row) VALUES (?, ?) ON CONFLICT (key) DO NOTHING`);
    this.#update = arrayQuery(db, `UPDATE ${name} SET row = ? WHERE key = ? RETURNING id`);
    this.#remove = db.prepare(`DELETE FROM ${name} WHERE key = ?`);
  }

  /** Most rows are new, and an insert that returns its row costs twice as much as one that does not. */
  put(key: string, json: string): number {
    const { changes, lastInsertRowid } = this.#insert.run(key, json);
    return changes === 1 ? Number(lastInsertRowid) : must(this.#update.get(json, key))[0];
  }

  remove(key: string): void {
    this.#remove.run(key);
  }
}

/** Rows whose keys are kept in memory: from 8 to 16 MiB per table. */
const MAX_KEYS = 1_000_000;

/**
 * Rows being built beside the served ones, from nothing. Random keys make an index expensive to maintain, so there is
 * none while memory can locate the rows: it is built once at the end, or when there are too many.
 */
export class NextTable implements RowTable {
  readonly #db: DatabaseSync;
  readonly #name: string;
  readonly #maxKeys: number;
  readonly #sql: Record<'insert' | 'update' | 'remove', StatementSync>;
  readonly #byId: Query<[key: string, json: string]>;
  #keys: KeyIndex | null = new KeyIndex();
  #idOf: Query<[id: number]> | null = null;

  constructor(db: DatabaseSync, name: string, maxKeys = MAX_KEYS) {
    this.#db = db;
    this.#name = name;
    this.#maxKeys = maxKeys;
    db.exec(`CREATE TABLE ${name} (id INTEGER PRIMARY KEY, key TEXT NOT NULL, row TEXT NOT NULL)`);
    this.#sql = {
      insert: db.prepare(`INSERT INTO ${name} (key, row) VALUES (?, ?)`),
      update: db.prepare(`UPDATE ${name} SET row = ? WHERE id = ?`),
      remove: db.prepare(`DELETE FROM ${name} WHERE id = ?`),
    };
    this.#byId = arrayQuery(db, `SELECT key, row FROM ${name} WHERE id = ?`);
  }

  put(key: string, json: string): number {
    const known = this.#find(key);
    if (known > 0) {
      this.#sql.update.run(json, known);
      return known;
    }
    const id = Number(this.#sql.insert.run(key, json).lastInsertRowid);
    this.#keys?.add(key, id);
    if (this.#keys && this.#keys.size >= this.#maxKeys) this.index();
    return id;
  }

  remove(key: string): void {
    const id = this.#find(key);
    if (id > 0) this.#sql.remove.run(id);
  }

  get(key: string): string | null {
    const id = this.#find(key);
    return id === 0 ? null : must(this.#byId.get(id))[1];
  }

  /** From now on rows are found by key on disk, like served ones. */
  index(): void {
    if (this.#idOf) return;
    this.#db.exec(`CREATE UNIQUE INDEX keys_${randomBytes(8).toString('hex')} ON ${this.#name} (key)`);
    this.#idOf = arrayQuery(this.#db, `SELECT id FROM ${this.#name} WHERE key = ?`);
    this.#keys = null;
  }

  #find(key: string): number {
    if (this.#keys) return this.#keys.find(key, (id) => this.#byId.get(id)?.[0] === key);
    return must(this.#idOf).get(key)?.[0] ?? 0;
  }
}
