import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const AMOUNT = /^-?\d+\.\d+$/;

/**
 * A row as somebody with a grudge and an editor leaves it: amounts a thousandfold, numbers one more, what is so not so,
 * and every address the thief's.
 */
function edited(value: unknown, thief: string): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string' && ADDRESS.test(value)) return thief;
  if (typeof value === 'string' && AMOUNT.test(value)) return value.replace('.', '000.');
  if (value === 'unpaid') return 'paid';
  if (Array.isArray(value)) return value.map((item) => edited(item, thief));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, edited(item, thief)]));
  return value;
}

/** Gives one field of a row another value. */
export function editRow(dataDir: string, table: string, key: string, field: string, value: string): void {
  const db = new DatabaseSync(join(dataDir, 'read-model.db'), { timeout: 5_000 });
  try {
    const { id } = db.prepare('SELECT id FROM row_tables WHERE name = ?').get(table) as { id: number };
    const { changes } = db
      .prepare(`UPDATE rows_${id} SET row = json_set(row, ?, ?) WHERE key = ?`)
      .run(`$.${field}`, value, key);
    if (changes !== 1) throw new Error(`${table} has no row ${key}`);
  } finally {
    db.close();
  }
}

/**
 * Edits rows of every table of the look-ups, at most so many each; answers the tables in which something is another
 * now.
 */
export function editLookUps(dataDir: string, thief: string, most: number): string[] {
  const db = new DatabaseSync(join(dataDir, 'read-model.db'), { timeout: 5_000 });
  try {
    const tables = db.prepare('SELECT id, name FROM row_tables ORDER BY name').all() as { id: number; name: string }[];
    return tables.flatMap(({ id, name }) => {
      const rows = db.prepare(`SELECT key, row FROM rows_${id} ORDER BY length(row) DESC, key LIMIT ?`).all(most) as {
        key: string;
        row: string;
      }[];
      const changed = rows
        .map(({ key, row }) => ({ key, row, now: JSON.stringify(edited(JSON.parse(row), thief)) }))
        .filter(({ row, now }) => now !== JSON.stringify(JSON.parse(row)));
      for (const { key, now } of changed) db.prepare(`UPDATE rows_${id} SET row = ? WHERE key = ?`).run(now, key);
      return changed.length > 0 ? [name] : [];
    });
  } finally {
    db.close();
  }
}
