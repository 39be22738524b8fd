import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Tail } from './committer.ts';
import { openDatabase } from './database.ts';
import { CHAIN_GENESIS } from './event-schema.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS progress (id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, chain TEXT NOT NULL) STRICT;
`;

export interface StreamName {
  readonly name: string;
  /** Position of the stream's first event. */
  readonly number: number;
}

export const streamNamesFile = (dataDir: string): string => join(dataDir, 'stream-names.db');

/**
 * `stream-names.db`: finds the number of a stream by its name. Names are random, so keeping them sorted touches a page each;
 * that is why they are not in the log's file, where every such page would have to be synced before an append is answered. The
 * file is derived from the log up to `progress`, at most a moment behind, and is made again when it does not fit the log.
 */
export class StreamNamesFile {
  readonly #database: DatabaseSync;
  readonly #find: StatementSync;
  readonly #beginReads: StatementSync;
  readonly #endReads: StatementSync;

  constructor(dataDir: string, { readOnly = false }: { readonly readOnly?: boolean } = {}) {
    this.#database = openDatabase(streamNamesFile(dataDir), { synchronous: 'NORMAL', readOnly, cacheSize: 16_384 });
    if (!readOnly) this.#database.exec(SCHEMA);
    this.#find = this.#database.prepare('SELECT number FROM names WHERE name = ?');
    this.#find.setReturnArrays(true);
    this.#beginReads = this.#database.prepare('BEGIN');
    this.#endReads = this.#database.prepare('COMMIT');
  }

  /** Null when the name is not there (yet). */
  numberOf(name: string): number | null {
    const row = this.#find.get(name) as unknown as [number] | undefined;
    return row ? row[0] : null;
  }

  /** Spares the look-ups made inside `reads` a lock each. */
  together<Result>(reads: () => Result): Result {
    this.#beginReads.run();
    try {
      return reads();
    } finally {
      this.#endReads.run();
    }
  }

  /** The end of the part of the log whose names are here. */
  progress(): Tail {
    const row = this.#database.prepare('SELECT position, chain FROM progress').get() as Tail | undefined;
    return row ? { position: row.position, chain: row.chain } : { position: 0, chain: CHAIN_GENESIS };
  }

  /** Throws when a name is there already: no two streams of a log have one name. */
  add(names: readonly StreamName[], through: Tail): void {
    const insert = this.#database.prepare('INSERT INTO names (name, number) VALUES (?, ?)');
    const sorted = [...names].sort((one, other) => (one.name < other.name ? -1 : 1));
    this.#transact(() => {
      for (const { name, number } of sorted) insert.run(name, number);
      this.#database
        .prepare('INSERT INTO progress VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position, chain = excluded.chain')
        .run(through.position, through.chain);
    });
  }

  clear(): void {
    this.#transact(() => this.#database.exec('DELETE FROM names; DELETE FROM progress'));
  }

  /** For the thread in whose time it may be done: pages are carried over as they pile up. */
  checkpointByItself(): void {
    this.#database.exec('PRAGMA wal_autocheckpoint = 2000');
  }

  close(): void {
    this.#database.close();
  }

  #transact(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}

export const hasStreamNames = (dataDir: string): boolean => existsSync(streamNamesFile(dataDir));
