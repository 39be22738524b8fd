import { mkdirSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Position } from '../../ports/event-store.ts';
import type { Change, ListMember, ListRange, ReadModel, Row } from '../../ports/read-model.ts';
import { flatten } from './read-model-changes.ts';
import { ListReader } from './read-model-list-reader.ts';
import { openForReading, readModelFile, rowTable } from './read-model-schema.ts';
import { WriterThread } from './read-model-thread.ts';

/**
 * The read model in `DATA_DIR/read-model.db`. Queries run on the caller's thread (tens of microseconds each), applies in a
 * thread of their own; what is queued while one commit is in flight becomes the next commit.
 */
export async function openSqliteReadModel(options: { readonly dataDir: string }): Promise<ReadModel> {
  mkdirSync(options.dataDir, { recursive: true });
  const file = readModelFile(options.dataDir);
  const writer = await WriterThread.start(file);
  return new SqliteReadModel(openForReading(file), writer);
}

interface RowQueries {
  /** Takes the keys as a JSON array. One text of all rows is a third faster than a look-up and a parse for each. */
  readonly getMany: StatementSync;
  readonly scan: StatementSync;
}

class SqliteReadModel implements ReadModel {
  readonly #db: DatabaseSync;
  readonly #writer: WriterThread;
  readonly #lists: ListReader;
  readonly #tables = new Map<string, RowQueries>();
  readonly #tableId: StatementSync;
  readonly #checkpoint: StatementSync;
  readonly #begin: StatementSync;
  readonly #end: StatementSync;

  constructor(db: DatabaseSync, writer: WriterThread) {
    this.#db = db;
    this.#writer = writer;
    this.#lists = new ListReader(db);
    this.#tableId = db.prepare('SELECT id FROM row_tables WHERE name = ?');
    this.#checkpoint = db.prepare('SELECT position FROM checkpoints WHERE projection = ?');
    this.#begin = db.prepare('BEGIN');
    this.#end = db.prepare('COMMIT');
  }

  async checkpoint(projection: string): Promise<Position | null> {
    const row = this.#checkpoint.get(projection) as { position: string } | undefined;
    return row?.position ?? null;
  }

  apply(projection: string, changes: readonly Change[], checkpoint: Position): Promise<void> {
    return this.#writer.apply({ projection, checkpoint, changes: flatten(changes) });
  }

  async get(table: string, key: string): Promise<Row | null> {
    return (await this.getMany(table, [key]))[0] ?? null;
  }

  async getMany(table: string, keys: readonly string[]): Promise<(Row | null)[]> {
    return this.#read(() => {
      const queries = keys.length === 0 ? null : this.#table(table);
      if (!queries) return keys.map(() => null);
      const [text] = queries.getMany.get(JSON.stringify(keys)) as unknown as [string];
      return JSON.parse(text) as (Row | null)[];
    });
  }

  async scan(table: string, { afterKey, limit }: { afterKey?: string; limit: number }): Promise<{ key: string; row: Row }[]> {
    return this.#read(() => {
      const rows = (this.#table(table)?.scan.all(afterKey ?? '', limit) ?? []) as unknown as [string, string][];
      return rows.map(([key, row]) => ({ key, row: JSON.parse(row) as Row }));
    });
  }

  async page(
    list: string,
    { offset, limit, ...range }: ListRange & { offset: number; limit: number },
  ): Promise<{ members: ListMember[]; total: number }> {
    return this.#read(() => this.#lists.page(list, offset, limit, range));
  }

  async before(list: string, { before, limit, ...range }: ListRange & { before: number | null; limit: number }): Promise<ListMember[]> {
    return this.#read(() => this.#lists.before(list, before, limit, range));
  }

  async clear(projection: string, tables: readonly string[], lists: readonly string[]): Promise<void> {
    await this.#writer.clear(projection, tables, lists);
    for (const table of tables) this.#tables.delete(table);
  }

  async close(): Promise<void> {
    if (this.#db.isOpen) this.#db.close();
    await this.#writer.close();
  }

  /** Everything read inside is of one commit. A table known here may just have been cleared: then it is looked up anew. */
  #read<Value>(work: () => Value): Value {
    try {
      return this.#readOnce(work);
    } catch (error) {
      if (this.#tables.size === 0 || !this.#db.isOpen) throw error;
      this.#tables.clear();
      return this.#readOnce(work);
    }
  }

  #readOnce<Value>(work: () => Value): Value {
    this.#begin.run();
    try {
      return work();
    } finally {
      this.#end.run();
    }
  }

  /** Null while nothing was ever put into the table. */
  #table(name: string): RowQueries | null {
    const known = this.#tables.get(name);
    if (known) return known;
    const row = this.#tableId.get(name) as { id: number } | undefined;
    if (!row) return null;
    const table = rowTable(row.id);
    const queries = {
      // The left join keeps the order of the keys.
      getMany: this.#db.prepare(
        `SELECT '[' || group_concat(coalesce(r.row, 'null')) || ']' FROM json_each(?) AS k LEFT JOIN ${table} AS r ON r.key = k.value`,
      ),
      scan: this.#db.prepare(`SELECT key, row FROM ${table} WHERE key > ? ORDER BY key LIMIT ?`),
    };
    for (const query of Object.values(queries)) query.setReturnArrays(true);
    this.#tables.set(name, queries);
    return queries;
  }
}
