import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Tail } from './append-job.ts';
import { isDefinedBy, openDatabase, removeDatabase, query, arrayQuery, type Query } from '../database.ts';
import { CHAIN_GENESIS } from './event-schema.ts';
import { isUnreadable } from '../fault.ts';
import { must } from '../../../domain/values/must.ts';

/*
 * Older builds stored whole names in `names` and their end in `progress`. Without the current tables they rebuild
 * theirs, too.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS numbers (key INTEGER PRIMARY KEY, number INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS clashes (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS reached (id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, chain TEXT NOT NULL) STRICT;
  DROP TABLE IF EXISTS names;
  DROP TABLE IF EXISTS progress;
`;

/** 52 bits: fits a number exactly, in whole hexadecimal digits. */
const KEY_DIGITS = 13;

export interface StreamName {
  readonly name: string;
  /** Position of the stream's first event. */
  readonly number: number;
}

/** The name of the stream that begins at the position; null if there is no event. */
export type NameOf = (number: number) => string | null;

const streamNamesFile = (dataDir: string): string => join(dataDir, 'stream-names.db');

/** No log written by this store contains such a stream. */
export class StreamBeginsTwice extends Error {
  override readonly name = 'StreamBeginsTwice';
}

/** The key of a name: the beginning of its hash, a sixth of its length. */
export const keyOfName = (name: string): number =>
  Number.parseInt(hash('sha256', name, 'hex').slice(0, KEY_DIGITS), 16);

/**
 * `stream-names.db` finds the number of a stream by its name. Names are random, so each one touches a page of its own
 * when kept sorted. They are not in the log's file, because every such page would have to be synced before an append is
 * answered. The log holds the names themselves. This file has short keys, and whole names only where a key is already
 * taken. It is derived from the log up to `progress`, lags by a moment, and is rebuilt if it does not match the log.
 */
export class StreamNamesFile {
  readonly #database: DatabaseSync;
  readonly #nameOf: NameOf;
  readonly #find: Query<[number: number]>;
  readonly #findClash: Query<[number: number]>;
  readonly #beginReads: StatementSync;
  readonly #endReads: StatementSync;

  private constructor(database: DatabaseSync, nameOf: NameOf) {
    this.#database = database;
    this.#nameOf = nameOf;
    this.#find = arrayQuery(database, 'SELECT number FROM numbers WHERE key = ?');
    this.#findClash = arrayQuery(database, 'SELECT number FROM clashes WHERE name = ?');
    this.#beginReads = database.prepare('BEGIN');
    this.#endReads = database.prepare('COMMIT');
  }

  /**
   * Removes a file that SQLite cannot read, or to which somebody added a trigger for example, so that it is rebuilt.
   * Call it before anybody opens the file.
   */
  static removeUnusable(dataDir: string): void {
    if (!StreamNamesFile.#isUsable(dataDir)) removeDatabase(streamNamesFile(dataDir));
  }

  static #isUsable(dataDir: string): boolean {
    try {
      const file = StreamNamesFile.open(dataDir, () => null);
      const isOwn = isDefinedBy(file.#database, SCHEMA);
      file.close();
      return isOwn;
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return false;
    }
  }

  /** A new file has no names yet. */
  static open(dataDir: string, nameOf: NameOf): StreamNamesFile {
    const database = openStreamNames(dataDir, false);
    database.exec(SCHEMA);
    return new StreamNamesFile(database, nameOf);
  }

  /** Null until another process has made the file and its tables. */
  static openToRead(dataDir: string, nameOf: NameOf): StreamNamesFile | null {
    if (!existsSync(streamNamesFile(dataDir))) return null;
    const database = openStreamNames(dataDir, true);
    if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'reached'").get())
      return new StreamNamesFile(database, nameOf);
    database.close();
    return null;
  }

  /** Null if the name is not there (yet). */
  numberOf(name: string): number | null {
    const number = numberIn(this.#find.get(keyOfName(name)));
    if (number === null || this.#nameOf(number) === name) return number;
    const clash = numberIn(this.#findClash.get(name));
    return clash !== null && this.#nameOf(clash) === name ? clash : null;
  }

  /** Runs several look-ups under one lock. */
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
    const row = query<Tail>(this.#database, 'SELECT position, chain FROM reached').get();
    return row ? { position: row.position, chain: row.chain } : { position: 0, chain: CHAIN_GENESIS };
  }

  /** Throws if a name is already there: no two streams of a log have the same name. */
  add(names: readonly StreamName[], through: Tail): void {
    const insert = this.#database.prepare('INSERT INTO numbers (key, number) VALUES (?, ?) ON CONFLICT DO NOTHING');
    const keyed = names
      .map(({ name, number }) => ({ key: keyOfName(name), name, number }))
      .sort((one, other) => one.key - other.key);
    this.#transact(() => {
      for (const { key, name, number } of keyed)
        if (insert.run(key, number).changes === 0) this.#addClash(key, name, number);
      this.#database
        .prepare(
          'INSERT INTO reached VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position, chain = excluded.chain',
        )
        .run(through.position, through.chain);
    });
  }

  clear(): void {
    this.#transact(() => this.#database.exec('DELETE FROM numbers; DELETE FROM clashes; DELETE FROM reached'));
  }

  /** Enables automatic checkpoints, for a thread that can afford them. */
  checkpointByItself(): void {
    this.#database.exec('PRAGMA wal_autocheckpoint = 2000');
  }

  close(): void {
    this.#database.close();
  }

  #addClash(key: number, name: string, number: number): void {
    const first = must(numberIn(this.#find.get(key)));
    if (this.#nameOf(first) === name)
      throw new StreamBeginsTwice(`stream ${name} begins twice: at position ${first} and at position ${number}`);
    this.#database.prepare('INSERT INTO clashes (name, number) VALUES (?, ?)').run(name, number);
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

const openStreamNames = (dataDir: string, readOnly: boolean): DatabaseSync =>
  openDatabase(streamNamesFile(dataDir), { synchronous: 'NORMAL', readOnly, cacheSize: 16_384 });

const numberIn = (row: [number: number] | undefined): number | null => row?.[0] ?? null;
