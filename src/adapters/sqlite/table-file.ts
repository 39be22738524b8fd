import { chmodSync, closeSync, openSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { TableFile, TableSchema } from '../../ports/read-model/table-file.ts';
import { must } from '../../domain/values/must.ts';

/** Rows per transaction. */
const ROWS = 50_000;

/**
 * Written under another name first, so that whoever opens the file finds it complete. Without a write-ahead log, so
 * that it is a single file.
 */
export function createTableFile(path: string, schemas: readonly TableSchema[]): TableFile {
  const partial = `${path}.partial`;
  rmSync(partial, { force: true });
  closeSync(openSync(partial, 'wx', 0o600));
  const database = new DatabaseSync(partial);
  // A file interrupted by a power cut is worthless anyway.
  database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  const puts = new Map(schemas.map((schema) => [schema.name, putInto(database, schema)]));
  const changes = new Map<string, StatementSync>();
  let rows = 0;
  const counted = (): void => {
    rows += 1;
    if (rows % ROWS === 0) database.exec('COMMIT; BEGIN');
  };
  return {
    put: (table, cells) => {
      must(puts.get(table)).run(...cells);
      counted();
    },
    change: (table, key, columns) => {
      const names = Object.keys(columns);
      const sql = changeOf(must(schemas.find(({ name }) => name === table)), names);
      const statement = changes.get(sql) ?? database.prepare(sql);
      changes.set(sql, statement);
      statement.run(...Object.values(columns), ...key);
      counted();
    },
    finish: () => {
      for (const { name, indexes = [] } of schemas)
        for (const columns of indexes)
          database.exec(
            `CREATE INDEX "${name}_by_${columns.join('_')}" ON "${name}" (${columns.map(quoted).join(', ')})`,
          );
      database.exec('COMMIT');
      database.close();
      chmodSync(partial, 0o400);
      renameSync(partial, path);
    },
    abandon: () => {
      database.close();
      rmSync(partial, { force: true });
    },
  };
}

const quoted = (name: string): string => `"${name}"`;

function putInto(database: DatabaseSync, { name, columns, key }: TableSchema): StatementSync {
  const names = Object.keys(columns).map(quoted);
  const typed = Object.entries(columns).map(([column, type]) => `${quoted(column)} ${type}`);
  database.exec(
    `CREATE TABLE "${name}" (${typed.join(', ')}, PRIMARY KEY (${names.slice(0, key).join(', ')})) WITHOUT ROWID`,
  );
  return database.prepare(`INSERT OR REPLACE INTO "${name}" VALUES (${names.map(() => '?').join(', ')})`);
}

function changeOf({ name, columns, key }: TableSchema, changed: readonly string[]): string {
  const ofKey = Object.keys(columns).slice(0, key);
  const equals = (column: string): string => `${quoted(column)} = ?`;
  return `UPDATE "${name}" SET ${changed.map(equals).join(', ')} WHERE ${ofKey.map(equals).join(' AND ')}`;
}
