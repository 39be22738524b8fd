import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { VIEW_MARK } from '../../../ports/read-model/read-model.ts';
import { createPrivately, query, removeDatabase } from '../database.ts';
import { isUnreadable } from '../fault.ts';
import { ArchiveWriter } from './archive-files.ts';
import { must } from '../../../domain/values/must.ts';

/** A file of another version is dropped and replayed from the event log. */
export const SCHEMA_VERSION = 1;

/*
 * Row tables are created when they are first written: `rows_<id>` for the name in `row_tables`. Rows are stored in the
 * order of their first write, so that neighbours in a list are neighbours on disk; only the index sees the random keys.
 * A list member stores the id of the row written under its name just before it, so a page reads its rows without the
 * index. The id is a hint; readers check the key.
 *
 * The first part of a list's name, up to its slash, is its set, which has its own tables (see `ListSet`). Rows that
 * will replace a projection's rows once they are built are stored beside the served ones, in tables `next_<id>` and
 * sets prefixed with `NEXT`.
 *
 * Archived rows are in the files of `archives`. When one is written again or removed, `returned` records where it was.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS checkpoints (
    projection TEXT PRIMARY KEY, position TEXT NOT NULL, generation INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS row_tables (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS list_sets (id INTEGER PRIMARY KEY AUTOINCREMENT, prefix TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS archives (
    id INTEGER PRIMARY KEY AUTOINCREMENT, file TEXT NOT NULL UNIQUE, through INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS returned (id INTEGER PRIMARY KEY AUTOINCREMENT, row TEXT NOT NULL);
`;

/** Prefix of checkpoints and sets of lists that are not served yet. */
export const NEXT = 'next:';

export const readModelFile = (dataDir: string): string => join(dataDir, 'read-model.db');

/** The table with this id; with '' the common prefix. */
export const rowTable = (id: number | ''): string => `rows_${id}`;
export const nextRowTable = (id: number): string => `next_${id}`;
/** Prefix of the numbers of tables that nobody reads any more. */
export const DROPPED_TABLES = 'dropped_';

export const droppedTablesIn = (db: DatabaseSync): string[] =>
  query<{ name: string }>(db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ?")
    .all(`${DROPPED_TABLES}[0-9]*`)
    .map(({ name }) => name);

export const userVersionOf = (db: DatabaseSync): number =>
  must(query<{ user_version: number }>(db, 'PRAGMA user_version').get()).user_version;

/** Undefined while nothing was put into a table of the name. */
export const rowTableId = (db: DatabaseSync, name: string): number | undefined =>
  query<{ id: number }>(db, 'SELECT id FROM row_tables WHERE name = ?').get(name)?.id;

/** The set of a list, and its name within the set. */
export function splitList(name: string): [set: string, rest: string] {
  const end = name.indexOf('/') + 1;
  return end === 0 ? [name, ''] : [name.slice(0, end), name.slice(end)];
}

/** The list that holds the members of all its views. */
export function ordinalListOf(name: string): string {
  const end = name.indexOf(VIEW_MARK);
  return end < 0 ? name : name.slice(0, end);
}

const BUSY_TIMEOUT_MS = 5_000;
/** 64 MiB, so that a page that is written often is copied into the file once. */
const WAL_PAGES = 16_384;

/** The only writing connection. A file of another version, or a damaged one, is replaced by an empty one. */
export function openForWriting(file: string): DatabaseSync {
  try {
    return prepareFile(file);
  } catch (error) {
    if (!isUnusable(error)) throw error;
    removeDatabase(file);
    return prepareFile(file);
  }
}

class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

function prepareFile(file: string): DatabaseSync {
  createPrivately(file);
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${WAL_PAGES}; PRAGMA cache_size = -65536;`,
    );
    // Overwrites removed rows of forgotten sessions with zeros; measurements show no cost for applies.
    db.exec('PRAGMA secure_delete = ON');
    const version = userVersionOf(db);
    if (version !== 0 && version !== SCHEMA_VERSION) throw new UnusableFile(`${file} has schema ${version}`);
    db.exec(`${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION};`);
    if (!new ArchiveWriter(db, file).settle())
      throw new UnusableFile(`${file} and its archives do not belong together`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const isUnusable = (error: unknown): boolean => error instanceof UnusableFile || isUnreadable(error);

/** Reads beside the writer. Every read transaction sees one commit. */
export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  // Mapped pages survive the writer's commits; this connection's own cache does not.
  db.exec('PRAGMA mmap_size = 8589934592; PRAGMA cache_size = -8192;');
  return db;
}
