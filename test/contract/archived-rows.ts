import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readModelFile } from '../../src/adapters/sqlite/read-model/schema.ts';
import type { TimeOfRow } from '../../src/ports/read-model/projection.ts';

/* Rows whose time ended, each in one of some months, and where they are. */

export const TABLE = 'killed@1';
const ROWS = 600;
const MONTH_SEC = 2_700_000;

interface Ended {
  readonly key: string;
  readonly sec: number;
}

export const keysOfArchived = (): string[] => Array.from({ length: ROWS }, (_, index) => `row-${index}`);
export const rowOf = (key: string): Ended => ({ key, sec: MONTH_SEC * (1 + (Number(key.slice(4)) % 3)) });
export const timeOf: TimeOfRow = (row) => ({ beganSec: 0, endedSec: (row as Ended).sec });

const folderOf = (dataDir: string): string => join(dataDir, 'read-model.archive');

export const archiveFiles = (dataDir: string): string[] =>
  (existsSync(folderOf(dataDir)) ? readdirSync(folderOf(dataDir)) : [])
    .filter((name) => name.endsWith('.db'))
    .map((name) => join(folderOf(dataDir), name));

function count(file: string, sql: string): number {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return (db.prepare(sql).get() as { rows: number }).rows;
  } finally {
    db.close();
  }
}

/** Rows in the archives. */
export const archivedIn = (dataDir: string): number =>
  archiveFiles(dataDir).reduce((sum, file) => sum + count(file, 'SELECT count(*) AS rows FROM rows'), 0);

/** Rows of the read model that stand for archived ones. */
export function pointersIn(dataDir: string): number {
  const file = readModelFile(dataDir);
  const db = new DatabaseSync(file, { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'rows_*'").all();
  db.close();
  return (tables as { name: string }[]).reduce(
    (sum, { name }) => sum + count(file, `SELECT count(*) AS rows FROM ${name} WHERE row < '{'`),
    0,
  );
}
