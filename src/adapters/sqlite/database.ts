import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { syncPath } from '../../runtime/files/sync-path.ts';
import { makeFolder } from '../../runtime/files/make-folder.ts';

/** Longest wait for another connection's lock, for example while a checkpoint restarts the WAL. */
const BUSY_TIMEOUT_MS = 5_000;

const SYNCHRONOUS = { NORMAL: 1, FULL: 2 } as const;

export interface DatabaseOptions {
  /** `FULL`: a commit is on disk when it returns. `NORMAL`: it survives the process, not a power cut. */
  readonly synchronous: keyof typeof SYNCHRONOUS;
  readonly readOnly?: boolean;
  readonly busyTimeoutMs?: number;
  readonly pageSize?: number;
  /** In KiB. */
  readonly cacheSize?: number;
}

/**
 * Opens a WAL database without automatic checkpoints (see `housekeeping.ts`). SQLite may silently fall back to a weaker
 * `synchronous`, so it is read back and anything else throws.
 */
export function openDatabase(path: string, options: DatabaseOptions): DatabaseSync {
  const readOnly = options.readOnly ?? false;
  if (!readOnly) createPrivately(path);
  const database = new DatabaseSync(path, { readOnly, timeout: options.busyTimeoutMs ?? BUSY_TIMEOUT_MS });
  try {
    if (!readOnly) {
      if (options.pageSize) database.exec(`PRAGMA page_size = ${options.pageSize}`);
      expectPragma(database, 'journal_mode', 'WAL', 'wal');
      database.exec('PRAGMA wal_autocheckpoint = 0');
    }
    database.exec(`PRAGMA synchronous = ${options.synchronous}`);
    assertSynchronous(database, options.synchronous);
    if (options.cacheSize) database.exec(`PRAGMA cache_size = -${options.cacheSize}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export function assertSynchronous(database: DatabaseSync, expected: keyof typeof SYNCHRONOUS): void {
  const actual = pragma(database, 'synchronous');
  if (actual !== SYNCHRONOUS[expected])
    throw new Error(`SQLite runs with synchronous=${String(actual)} instead of ${expected}`);
}

export function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

/** Makes the statement return rows as arrays, which are cheaper to create than objects. */
function arrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true);
  return statement;
}

/** Runs the work atomically. */
export function inTransaction<Value>(db: DatabaseSync, work: () => Value): Value {
  db.exec('BEGIN IMMEDIATE');
  try {
    const value = work();
    db.exec('COMMIT');
    return value;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

export const hasTable = (db: DatabaseSync, table: string): boolean =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !== undefined;

/** Whether the database has exactly the tables, indexes and triggers of the schema: somebody else's would run with it. */
export function isDefinedBy(database: DatabaseSync, schema: string): boolean {
  const fresh = new DatabaseSync(':memory:');
  try {
    fresh.exec(schema);
    const [own, expected] = [database, fresh].map((of) =>
      JSON.stringify(
        of
          .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
          .all(),
      ),
    );
    return own === expected;
  } finally {
    fresh.close();
  }
}

/** A read statement with the type of its rows. */
export interface Query<Row> {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): Row[];
  iterate(...values: SQLInputValue[]): Iterable<Row>;
}

/** `Row` is what the SQL text selects. */
export const query = <Row>(database: DatabaseSync, sql: string): Query<Row> => ofRows(database.prepare(sql));

export const arrayQuery = <Row extends readonly unknown[]>(database: DatabaseSync, sql: string): Query<Row> =>
  ofRows(arrays(database.prepare(sql)));

const ofRows = <Row>(statement: Query<unknown>): Query<Row> => statement as Query<Row>;

/** Removes the database and its write-ahead log. Nobody may have it open. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

/** Creates the directory for its owner only and makes its name durable. */
export function createDataDir(dataDir: string): void {
  if (existsSync(dataDir)) return;
  makeFolder(dataDir);
  syncPath(dirname(dataDir));
}

function expectPragma(database: DatabaseSync, name: string, value: string, expected: unknown): void {
  const actual = pragma(database, `${name} = ${value}`);
  if (actual !== expected) throw new Error(`SQLite refused ${name}=${value}: it answered ${String(actual)}`);
}

/** Only if absent: closing any descriptor of an open database would drop this process's POSIX locks on it. */
export function createPrivately(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
}
