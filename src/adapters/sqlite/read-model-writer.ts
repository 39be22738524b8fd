import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { replay, type ChangeTarget, type FlatApply } from './read-model-changes.ts';
import { ListWriter } from './read-model-list-writer.ts';
import { openForWriting, rowTable } from './read-model-schema.ts';

interface RowStatements {
  readonly put: StatementSync;
  readonly remove: StatementSync;
}

/** Members of dropped lists removed in one go, so that applies in between do not wait long. */
const SWEEP_ROWS = 5_000;

/** The one writer of the read model: synchronous, so it lives in a thread of its own. */
export class ReadModelWriter {
  readonly #db: DatabaseSync;
  readonly #lists: ListWriter;
  readonly #tables = new Map<string, RowStatements>();
  /** Ids of the rows put in this transaction, by key. */
  readonly #rowIds = new Map<string, number>();
  readonly #target: ChangeTarget;
  readonly #saveCheckpoint: StatementSync;

  constructor(file: string) {
    this.#db = openForWriting(file);
    this.#lists = new ListWriter(this.#db);
    this.#saveCheckpoint = this.#db.prepare(
      'INSERT INTO checkpoints (projection, position) VALUES (?, ?) ON CONFLICT DO UPDATE SET position = excluded.position',
    );
    this.#target = {
      put: (table, key, json) => {
        const [id] = this.#table(table).put.get(key, json) as unknown as [number];
        this.#rowIds.set(key, id);
      },
      remove: (table, key) => this.#table(table).remove.run(key),
      enlist: (list, member, order, atSec) => this.#lists.enlist(list, member, order, atSec, this.#rowIds.get(member) ?? null),
      delist: (list, member, order) => this.#lists.delist(list, member, order),
    };
  }

  /** Each of them whole or not at all; all in one commit when none fails. Null, or the message of what went wrong. */
  apply(batch: readonly FlatApply[]): (string | null)[] {
    try {
      this.#transact(() => batch.forEach((one) => this.#applyOne(one)));
      return batch.map(() => null);
    } catch (error) {
      return batch.length === 1 ? [messageOf(error)] : batch.flatMap((one) => this.apply([one]));
    }
  }

  clear(projection: string, tables: readonly string[], lists: readonly string[]): void {
    this.#transact(() => {
      this.#db.prepare('DELETE FROM checkpoints WHERE projection = ?').run(projection);
      for (const name of tables) this.#dropTable(name);
      for (const prefix of lists) this.#lists.drop(prefix);
    });
  }

  /** Removes some of what dropped lists left behind; false when nothing is left. */
  sweep(): boolean {
    if (!this.#db.isOpen) return false;
    const dropped = this.#db.prepare('SELECT list FROM dropped_lists LIMIT 1').get() as { list: number } | undefined;
    if (!dropped) return false;
    this.#transact(() => {
      const { list } = dropped;
      const removed = ['list_members:place', 'list_leaves:block', 'list_seconds:at_sec'].map((entry) => {
        const [table, column] = entry.split(':');
        return this.#db
          .prepare(`DELETE FROM ${table} WHERE list = ? AND ${column} IN (SELECT ${column} FROM ${table} WHERE list = ? LIMIT ${SWEEP_ROWS})`)
          .run(list, list).changes;
      });
      if (removed.every((count) => count < SWEEP_ROWS)) this.#db.prepare('DELETE FROM dropped_lists WHERE list = ?').run(list);
    });
    return true;
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #applyOne({ projection, checkpoint, changes }: FlatApply): void {
    replay(changes, this.#target);
    this.#saveCheckpoint.run(projection, checkpoint);
  }

  #transact(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#lists.flush();
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#lists.forget();
      this.#tables.clear();
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    } finally {
      this.#rowIds.clear();
    }
  }

  #table(name: string): RowStatements {
    const known = this.#tables.get(name);
    if (known) return known;
    const table = rowTable(this.#tableId(name));
    this.#db.exec(`CREATE TABLE IF NOT EXISTS ${table} (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, row TEXT NOT NULL)`);
    const statements = {
      put: this.#db.prepare(`INSERT INTO ${table} (key, row) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET row = excluded.row RETURNING id`),
      remove: this.#db.prepare(`DELETE FROM ${table} WHERE key = ?`),
    };
    statements.put.setReturnArrays(true);
    this.#tables.set(name, statements);
    return statements;
  }

  #tableId(name: string): number {
    const row = this.#db.prepare('SELECT id FROM row_tables WHERE name = ?').get(name) as { id: number } | undefined;
    return row ? row.id : Number(this.#db.prepare('INSERT INTO row_tables (name) VALUES (?)').run(name).lastInsertRowid);
  }

  #dropTable(name: string): void {
    const row = this.#db.prepare('DELETE FROM row_tables WHERE name = ? RETURNING id').get(name) as { id: number } | undefined;
    if (row) this.#db.exec(`DROP TABLE IF EXISTS ${rowTable(row.id)}`);
    this.#tables.delete(name);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
