import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { must } from '../../../domain/values/must.ts';
import type { Row } from '../../../ports/read-model/read-model.ts';
import { syncPath } from '../../../runtime/files/sync-path.ts';
import { createDataDir, createPrivately, inTransaction, query, type Query } from '../database.ts';

/*
 * Rows that are unlikely to change are moved to one file per month beside the read model. The read model's own file
 * keeps their keys, with `[archive, id]` in place of the row, so lists and orders do not change. An archived row never
 * changes: when it is written again, it moves back to the read model's own file, and the archived copy is removed
 * later.
 */

/** Where an archived row is. */
export type ArchivedAt = readonly [archive: number, id: number];

/** `through`: the last row that the read model refers to. */
interface Archive {
  readonly id: number;
  readonly file: string;
  readonly through: number;
}

const BUSY_TIMEOUT_MS = 5_000;

const folderOf = (readModelFile: string): string => join(dirname(readModelFile), 'read-model.archive');

const archivesIn = (db: DatabaseSync): Archive[] => query<Archive>(db, 'SELECT id, file, through FROM archives').all();

const fileOf = (db: DatabaseSync, archive: number): string =>
  must(query<{ file: string }>(db, 'SELECT file FROM archives WHERE id = ?').get(archive)).file;

/** Distinguishes references to archived rows from rows, which are objects. */
export const isArchived = (stored: unknown): stored is ArchivedAt => Array.isArray(stored);

/** Reads rows wherever they are. */
export class ArchivedRows {
  readonly #db: DatabaseSync;
  readonly #folder: string;
  readonly #files = new Map<number, DatabaseSync>();
  readonly #statements = new Map<number, Query<{ row: string }>>();

  constructor(db: DatabaseSync, readModelFile: string) {
    this.#db = db;
    this.#folder = folderOf(readModelFile);
  }

  /** The row for the value stored under its key. */
  row(stored: Row | null): Row | null {
    return isArchived(stored) ? (JSON.parse(this.#find(stored)) as Row) : stored;
  }

  /** Like `row`, for texts. */
  text(stored: string): string {
    return stored.startsWith('[') ? this.#find(JSON.parse(stored) as ArchivedAt) : stored;
  }

  /** Keeps a snapshot of all files for as long as this is open. */
  hold(): void {
    for (const { id } of archivesIn(this.#db)) this.#open(id).exec('BEGIN; SELECT max(id) FROM rows;');
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
    this.#statements.clear();
  }

  #find([archive, id]: ArchivedAt): string {
    const found = this.#statement(archive).get(id);
    // A snapshot of the read model may be too late: the row is back in the read model's own file.
    if (!found) throw new Error(`row ${id} left archive ${archive} of the look-ups`);
    return found.row;
  }

  /** Preparing a statement costs several times as much as running it. */
  #statement(archive: number): Query<{ row: string }> {
    const known = this.#statements.get(archive);
    if (known) return known;
    const made = query<{ row: string }>(this.#open(archive), 'SELECT row FROM rows WHERE id = ?');
    this.#statements.set(archive, made);
    return made;
  }

  #open(id: number): DatabaseSync {
    const known = this.#files.get(id);
    if (known) return known;
    const opened = new DatabaseSync(join(this.#folder, fileOf(this.#db, id)), {
      readOnly: true,
      timeout: BUSY_TIMEOUT_MS,
    });
    this.#files.set(id, opened);
    return opened;
  }
}

/** Writes the files. Like the read model they have a single writer. */
export class ArchiveWriter {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #folder: string;
  readonly #files = new Map<number, DatabaseSync>();

  constructor(db: DatabaseSync, readModelFile: string) {
    this.#db = db;
    this.#file = readModelFile;
    this.#folder = folderOf(readModelFile);
  }

  /**
   * Removes what the read model does not refer to: files of another read model, and rows of an interrupted move. False
   * if rows are lost, because a file is missing or is an older copy of itself, or because the read model is an older
   * copy and refers to rows that were removed since.
   */
  settle(): boolean {
    const archives = archivesIn(this.#db);
    for (const name of existsSync(this.#folder) ? readdirSync(this.#folder) : [])
      if (!archives.some(({ file }) => name.startsWith(file))) rmSync(join(this.#folder, name));
    if (!archives.every(({ file }) => existsSync(join(this.#folder, file)))) return false;
    const lastReturned = lastIdIn(this.#db, 'returned');
    const isWhole = archives.every(
      ({ id, through }) => lastIdIn(this.#open(id), 'rows') >= through && lastRemovalIn(this.#open(id)) <= lastReturned,
    );
    for (const { id, through } of archives) this.#open(id).prepare('DELETE FROM rows WHERE id > ?').run(through);
    this.close();
    return isWhole;
  }

  /** Adds rows to the file of a month. Durable when it returns, but void until `keep` records `through`. */
  add(month: string, rows: readonly string[]): { archive: number; ids: readonly number[] } {
    const { id: archive, through } = this.#ofMonth(month);
    const file = this.#open(archive);
    return inTransaction(file, () => {
      // Left by a move that the read model refused.
      file.prepare('DELETE FROM rows WHERE id > ?').run(through);
      const insert = file.prepare('INSERT INTO rows (row) VALUES (?)');
      return { archive, ids: rows.map((row) => Number(insert.run(row).lastInsertRowid)) };
    });
  }

  /** Call it within the transaction that refers to the rows. */
  keep(archive: number, through: number): void {
    this.#db.prepare('UPDATE archives SET through = ? WHERE id = ?').run(through, archive);
  }

  /** Removes rows that the read model no longer refers to. `through`: the last of them among the returned rows. */
  remove(rows: readonly ArchivedAt[], through: number): void {
    // A power cut must not bring back references to them.
    syncPath(`${this.#file}-wal`);
    for (const [archive, own] of Map.groupBy(rows, ([id]) => id)) {
      const file = this.#open(archive);
      inTransaction(file, () => {
        file.exec(`PRAGMA user_version = ${through}`);
        file
          .prepare('DELETE FROM rows WHERE id IN (SELECT value FROM json_each(?))')
          .run(JSON.stringify(own.map(([, id]) => id)));
      });
    }
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
  }

  #ofMonth(month: string): Archive {
    const known = archivesIn(this.#db).find(({ file }) => file.startsWith(month));
    if (known) return known;
    // Random, so that no file is mistaken for one of another read model.
    const file = `${month}-${randomBytes(8).toString('hex')}.db`;
    createDataDir(this.#folder);
    makeArchive(join(this.#folder, file));
    syncPath(this.#folder);
    const { lastInsertRowid } = this.#db.prepare('INSERT INTO archives (file, through) VALUES (?, 0)').run(file);
    return { id: Number(lastInsertRowid), file, through: 0 };
  }

  #open(id: number): DatabaseSync {
    const known = this.#files.get(id);
    if (known) return known;
    const opened = new DatabaseSync(join(this.#folder, fileOf(this.#db, id)), { timeout: BUSY_TIMEOUT_MS });
    opened.exec('PRAGMA synchronous = FULL; PRAGMA secure_delete = ON');
    this.#files.set(id, opened);
    return opened;
  }
}

/** Including those of removed rows. */
const lastIdIn = (file: DatabaseSync, table: string): number =>
  query<{ seq: number }>(file, 'SELECT seq FROM sqlite_sequence WHERE name = ?').get(table)?.seq ?? 0;

/** The last returned row that was removed here. */
const lastRemovalIn = (file: DatabaseSync): number =>
  must(query<{ user_version: number }>(file, 'PRAGMA user_version').get()).user_version;

/** Ids are never reused, so a stale reference finds nothing rather than something else. */
function makeArchive(path: string): void {
  createPrivately(path);
  const db = new DatabaseSync(path);
  db.exec(`
    PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE rows (id INTEGER PRIMARY KEY AUTOINCREMENT, row TEXT NOT NULL);`);
  db.close();
}
