import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Another version is another file content: what is there is dropped and replayed from the ledger. */
const SCHEMA_VERSION = 2;

/*
 * Row tables are made when they are first written: `rows_<id>` for the name in `row_tables`. Rows lie in the order in which
 * they were first written, so that neighbours in a list are neighbours on disk; only the index sees the random keys. A list
 * member remembers the id of the row that was put under its name in the same commit: a page then reads its rows without the
 * index. The id is a hint; readers check the key.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS checkpoints (projection TEXT PRIMARY KEY, position TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS row_tables (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS lists (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, total INTEGER NOT NULL, blocks BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS list_members (list INTEGER, place INTEGER, member TEXT NOT NULL, row_id INTEGER, PRIMARY KEY (list, place)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS list_leaves (list INTEGER, block INTEGER, counts BLOB NOT NULL, PRIMARY KEY (list, block)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS list_seconds (list INTEGER, at_sec INTEGER, first_place INTEGER NOT NULL, PRIMARY KEY (list, at_sec)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS dropped_lists (list INTEGER PRIMARY KEY);
`;

export const readModelFile = (dataDir: string): string => join(dataDir, 'read-model.db');

export const rowTable = (id: number): string => `rows_${id}`;

const BUSY_TIMEOUT_MS = 5_000;
/** 64 MiB: a page that is written often is copied into the file once. */
const WAL_PAGES = 16_384;

/** The only connection that writes. A file of another version, or a damaged one, is replaced by an empty one. */
export function openForWriting(file: string): DatabaseSync {
  try {
    return prepareFile(file);
  } catch (error) {
    if (!isUnusable(error)) throw error;
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
    return prepareFile(file);
  }
}

class OtherVersion extends Error {
  override readonly name = 'OtherVersion';
}

function prepareFile(file: string): DatabaseSync {
  // Only when absent: closing any descriptor of an open database would drop this process's POSIX locks on it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${WAL_PAGES}; PRAGMA cache_size = -65536;`);
    const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
    if (version !== 0 && version !== SCHEMA_VERSION) throw new OtherVersion(`${file} has schema ${version}`);
    db.exec(`${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION};`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

function isUnusable(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode;
  return error instanceof OtherVersion || code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}

/** Reads beside the writer; every read transaction sees one commit. */
export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  // Mapped pages survive the commits of the writer; this connection's own cache does not.
  db.exec('PRAGMA mmap_size = 8589934592; PRAGMA cache_size = -8192;');
  return db;
}
