import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** The row of a list, as `find` and `findById` answer it. */
export type StoredList = [id: number, tail: number, total: number, blocks: Uint8Array, last: string];

/** What a writer of lists asks the database. */
export function listStatements(db: DatabaseSync) {
  const arrays = (sql: string): StatementSync => {
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  };
  return {
    findSet: arrays('SELECT id FROM list_sets WHERE prefix = ?'),
    makeSet: db.prepare('INSERT INTO list_sets (prefix) VALUES (?)'),
    find: arrays('SELECT id, tail, total, blocks, last FROM lists WHERE list_set = ? AND name = ?'),
    findById: arrays('SELECT id, tail, total, blocks, last FROM lists WHERE id = ? AND list_set = ? AND name = ?'),
    make: db.prepare('INSERT INTO lists (list_set, name, tail, total, blocks, last) VALUES (?, ?, ?, ?, ?, ?)'),
    save: db.prepare('UPDATE lists SET tail = ?, total = ?, blocks = ?, last = ? WHERE id = ?'),
    findLeaf: arrays('SELECT members FROM list_leaves WHERE key = ?'),
    saveLeaf: db.prepare('INSERT INTO list_leaves (key, members) VALUES (?, ?) ON CONFLICT DO UPDATE SET members = excluded.members'),
    dropLeaf: db.prepare('DELETE FROM list_leaves WHERE key = ?'),
    findCounts: arrays('SELECT counts FROM list_counts WHERE key = ?'),
    saveCounts: db.prepare('INSERT INTO list_counts (key, counts) VALUES (?, ?) ON CONFLICT DO UPDATE SET counts = excluded.counts'),
    dropCounts: db.prepare('DELETE FROM list_counts WHERE key = ?'),
  };
}
