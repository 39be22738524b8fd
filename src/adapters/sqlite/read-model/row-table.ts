import { randomBytes } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { KeyIndex } from './key-index.ts';
import { must } from '../../../domain/must.ts';

/** The rows of one table, as texts by key. */
export interface RowTable {
  /** Returns the id of the row. */
  put(key: string, json: string): number;
  remove(key: string): void;
}

/** Served rows, which can be found by key on disk at any time. */
export class ServedTable implements RowTable {
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #remove: StatementSync;

  constructor(db: DatabaseSync, name: string) {
    db.exec(`CREATE TABLE IF NOT EXISTS ${name} (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, row TEXT NOT NULL)`);
    this.#insert = db.prepare(`INSERT INTO ${name} (key, row) VALUES (?, ?) ON CONFLICT (key) DO NOTHING`);
    this.#update = db.prepare(`UPDATE ${name} SET row = ? WHERE key = ? RETURNING id`);
    this.#update.setReturnArrays(true);
    this.#remove = db.prepare(`DELETE FROM ${name} WHERE key = ?`);
  }

  /** Most rows are new, and an insert that returns its row costs twice as much as one that does not. */
  put(key: string, json: string): number {
    const { changes, lastInsertRowid } = this.#insert.run(key, json);
    return changes === 1 ? Number(lastInsertRowid) : (this.#update.get(json, key) as unknown as [number])[0];
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
  readonly #sql: Record<'insert' | 'update' | 'remove' | 'byId', StatementSync>;
  #keys: KeyIndex | null = new KeyIndex();
  #idOf: StatementSync | null = null;

  constructor(db: DatabaseSync, name: string, maxKeys = MAX_KEYS) {
    this.#db = db;
    this.#name = name;
    this.#maxKeys = maxKeys;
    db.exec(`CREATE TABLE ${name} (id INTEGER PRIMARY KEY, key TEXT NOT NULL, row TEXT NOT NULL)`);
    this.#sql = {
      insert: db.prepare(`INSERT INTO ${name} (key, row) VALUES (?, ?)`),
      update: db.prepare(`UPDATE ${name} SET row = ? WHERE id = ?`),
      remove: db.prepare(`DELETE FROM ${name} WHERE id = ?`),
      byId: db.prepare(`SELECT key, row FROM ${name} WHERE id = ?`),
    };
    this.#sql.byId.setReturnArrays(true);
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
    return id === 0 ? null : must(this.#row(id))[1];
  }

  /** From now on rows are found by key on disk, like served ones. */
  index(): void {
    if (this.#idOf) return;
    this.#db.exec(`CREATE UNIQUE INDEX keys_${randomBytes(8).toString('hex')} ON ${this.#name} (key)`);
    this.#idOf = this.#db.prepare(`SELECT id FROM ${this.#name} WHERE key = ?`);
    this.#idOf.setReturnArrays(true);
    this.#keys = null;
  }

  #find(key: string): number {
    if (this.#keys) return this.#keys.find(key, (id) => this.#row(id)?.[0] === key);
    return (must(this.#idOf).get(key) as unknown as [number] | undefined)?.[0] ?? 0;
  }

  #row(id: number): [key: string, json: string] | undefined {
    return this.#sql.byId.get(id) as unknown as [string, string] | undefined;
  }
}
