import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../../ports/event-log/event-store.ts';
import type { OwnedRows } from '../../../ports/read-model/read-model.ts';
import { listTables } from './list-set.ts';
import { hasTable, query } from '../database.ts';
import { ArchivedRows } from './archive-files.ts';
import { droppedTablesIn, nextRowTable, rowTable, SCHEMA_VERSION, userVersionOf } from './schema.ts';

/** Contents of a read model file that nobody has open: the checkpoint of each projection whose rows are served. */
export interface CopyContents {
  readonly schema: number;
  readonly checkpoints: Readonly<Record<string, Position>>;
}

/** Null for a file that is not a read model. */
export function contentsOf(file: string): CopyContents | null {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const schema = userVersionOf(db);
    const rows = query<{ projection: string; position: Position }>(
      db,
      'SELECT projection, position FROM checkpoints',
    ).all();
    return { schema, checkpoints: Object.fromEntries(rows.map(({ projection, position }) => [projection, position])) };
  } catch {
    return null;
  } finally {
    db.close();
  }
}

export const isOfThisSchema = ({ schema }: CopyContents): boolean => schema === SCHEMA_VERSION;

/**
 * Writes a copy without free pages, which contain dropped data, as another file in the same folder, because a temporary
 * folder may lack the space.
 */
export function compact(file: string, to: string): void {
  // Created here, so that nobody else may read it.
  writeFileSync(to, '', { mode: 0o600 });
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    db.prepare('VACUUM INTO ?').run(to);
  } finally {
    db.close();
  }
}

/**
 * Reduces a copy that nobody has open to served data of these projections; the rest belongs to one process alone, or is
 * incomplete.
 */
export function keepOnly(file: string, kept: readonly OwnedRows[]): void {
  const ids = new Set(kept.map(({ projection }) => projection));
  const tables = new Set(kept.flatMap((owned) => owned.tables));
  const lists = new Set(kept.flatMap((owned) => owned.lists));
  const db = new DatabaseSync(file);
  try {
    db.exec('PRAGMA synchronous = OFF; BEGIN IMMEDIATE');
    const drop = (table: string): void => db.exec(`DROP TABLE IF EXISTS ${table}`);
    for (const { id, name } of query<{ id: number; name: string }>(db, 'SELECT id, name FROM row_tables').all()) {
      drop(nextRowTable(id));
      if (tables.has(name)) continue;
      drop(rowTable(id));
      db.prepare('DELETE FROM row_tables WHERE id = ?').run(id);
    }
    for (const { id, prefix } of query<{ id: number; prefix: string }>(db, 'SELECT id, prefix FROM list_sets').all()) {
      if (lists.has(prefix)) continue;
      Object.values(listTables(id)).forEach(drop);
      db.prepare('DELETE FROM list_sets WHERE id = ?').run(id);
    }
    droppedTablesIn(db).forEach(drop);
    for (const { projection } of query<{ projection: string }>(db, 'SELECT projection FROM checkpoints').all())
      if (!ids.has(projection)) db.prepare('DELETE FROM checkpoints WHERE projection = ?').run(projection);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

/**
 * Copies archived rows into a copy of `file` that nobody has open, because its users have no archives. Throws if, since
 * the copy was made, a row was written again and its archived copy removed.
 */
export function takeIn(copy: string, file: string): void {
  const db = new DatabaseSync(copy);
  const archived = new ArchivedRows(db, file);
  try {
    db.exec('PRAGMA synchronous = OFF; BEGIN IMMEDIATE');
    const triggers = query<{ name: string }>(db, "SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
    for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
    for (const { id } of query<{ id: number }>(db, 'SELECT id FROM row_tables').all()) {
      if (!hasTable(db, rowTable(id))) continue;
      const next = query<{ id: number; row: string }>(
        db,
        `SELECT id, row FROM ${rowTable(id)} WHERE id > ? AND row < '{' ORDER BY id LIMIT 1`,
      );
      const write = db.prepare(`UPDATE ${rowTable(id)} SET row = ? WHERE id = ?`);
      for (let at = 0, found; (found = next.get(at)); at = found.id) write.run(archived.text(found.row), found.id);
    }
    db.exec('DELETE FROM archives; DELETE FROM returned; COMMIT');
  } finally {
    archived.close();
    db.close();
  }
}
