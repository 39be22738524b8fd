import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { MessagePort, Worker } from 'node:worker_threads';
import type { Position } from '../../../ports/event-log/event-store.ts';
import type {
  Change,
  ListMember,
  ListRange,
  NextRows,
  OwnedRows,
  ReadModel,
  Row,
  Table,
} from '../../../ports/read-model/read-model.ts';
import { arrayQuery, createDataDir, query, type Query } from '../database.ts';
import { ArchivedRows } from './archive-files.ts';
import { ListReader } from './list-reader.ts';
import { NEXT, openForReading, readModelFile, rowTable } from './schema.ts';
import { archiveOn, serveWriter, type ArchiveOptions } from './server.ts';
import { WriterThread, type AsyncWriter } from './thread.ts';
import { LocalWriter } from './local-writer.ts';
import { ReadModelWriter } from './writer.ts';
import { must } from '../../../domain/values/must.ts';

/**
 * The read model in `DATA_DIR/read-model.db`. Queries run on the caller's thread (tens of microseconds each), applies
 * in a separate thread; what queues up during one commit becomes the next commit. `worker`: a thread that runs
 * `serveSqliteReadModel` on its parent port, instead of a dedicated one.
 */
export async function openSqliteReadModel(options: {
  readonly dataDir: string;
  readonly worker?: Worker;
}): Promise<ReadModel> {
  createDataDir(options.dataDir);
  const file = readModelFile(options.dataDir);
  const writer = await (options.worker ? WriterThread.over(options.worker) : WriterThread.start(file));
  return new SqliteReadModel(file, writer);
}

/**
 * The same read model inside the thread that writes it, for projections running there. The other end of the port also
 * applies through this thread, because a file has one writer.
 */
export function serveSqliteReadModel(options: {
  readonly dataDir: string;
  readonly port: MessagePort;
  readonly archive?: ArchiveOptions;
}): ReadModel {
  const { model, writer } = openWithWriter(options.dataDir);
  serveWriter(options.port, writer);
  if (options.archive) archiveOn(writer, options.archive);
  return model;
}

/** The read model and its writer, both in this thread. */
export function openWithWriter(dataDir: string): { readonly model: ReadModel; readonly writer: ReadModelWriter } {
  createDataDir(dataDir);
  const file = readModelFile(dataDir);
  const writer = new ReadModelWriter(file);
  return { model: new SqliteReadModel(file, new LocalWriter(writer)), writer };
}

interface RowQueries {
  /* Both take and return a JSON array, a third faster than a look-up and a parse per row. */
  readonly byKeys: Query<[rows: string]>;
  readonly byIds: Query<[keysAndRows: string]>;
  readonly scan: Query<[key: string, row: string]>;
  readonly byKey: Query<[row: string]>;
  readonly since: Query<[id: number, key: string]>;
}

class SqliteReadModel implements ReadModel {
  readonly #db: DatabaseSync;
  readonly #writer: AsyncWriter;
  readonly #lists: ListReader;
  readonly #archived: ArchivedRows;
  readonly #tables = new Map<string, RowQueries>();
  readonly #tableId: Query<{ id: number }>;
  readonly #checkpoint: Query<{ position: Position; generation: number }>;
  readonly #begin: StatementSync;
  readonly #end: StatementSync;

  constructor(file: string, writer: AsyncWriter) {
    const db = openForReading(file);
    this.#db = db;
    this.#archived = new ArchivedRows(db, file);
    this.#writer = writer;
    this.#lists = new ListReader(db);
    this.#tableId = query(
      db,
      "SELECT t.id FROM row_tables AS t JOIN sqlite_schema AS s ON s.type = 'table' AND s.name = ? || t.id WHERE t.name = ?",
    );
    this.#checkpoint = query(db, 'SELECT position, generation FROM checkpoints WHERE projection = ?');
    this.#begin = db.prepare('BEGIN');
    this.#end = db.prepare('COMMIT');
  }

  async checkpoint(projection: string): Promise<Position | null> {
    return this.#checkpoint.get(projection)?.position ?? null;
  }

  async generation(projection: string): Promise<string | null> {
    return this.#generation(projection);
  }

  #generation(projection: string): string | null {
    const row = this.#checkpoint.get(projection);
    return row ? String(row.generation) : null;
  }

  apply(projection: string, changes: readonly Change[], checkpoint: Position): Promise<void> {
    return this.#writer.apply({ projection, checkpoint, changes, isNext: false });
  }

  async get<Kept extends object = Row>(table: Table<Kept>, key: string): Promise<Kept | null> {
    return (await this.getMany(table, [key]))[0] ?? null;
  }

  async getMany<Kept extends object = Row>(table: Table<Kept>, keys: readonly string[]): Promise<(Kept | null)[]> {
    return this.#getMany(table, keys) as (Kept | null)[];
  }

  async scan<Kept extends object = Row>(
    table: Table<Kept>,
    { afterKey, limit }: { afterKey?: string; limit: number },
  ): Promise<{ key: string; row: Kept }[]> {
    return this.#read(() => {
      const rows = this.#table(table)?.scan.all(afterKey ?? '', limit) ?? [];
      return rows.map(([key, row]) => ({ key, row: JSON.parse(this.#archived.text(row)) as Kept }));
    });
  }

  peek<Kept extends object = Row>(
    projection: string,
    table: Table<Kept>,
    key: string,
  ): { row: Kept | null; generation: string | null } {
    return this.#read(() => {
      const found = this.#table(table)?.byKey.get(key);
      return {
        row: found ? (JSON.parse(this.#archived.text(found[0])) as Kept) : null,
        generation: this.#generation(projection),
      };
    });
  }

  async keysSince(
    projection: string,
    table: Table,
    place: number,
    limit: number,
  ): Promise<{ generation: string | null; keys: string[]; place: number }> {
    return this.#read(() => {
      const found = this.#table(table)?.since.all(place, limit) ?? [];
      return {
        generation: this.#generation(projection),
        keys: found.map(([, key]) => key),
        place: found.at(-1)?.[0] ?? place,
      };
    });
  }

  async page(
    list: string,
    { offset, limit, ...range }: ListRange & { offset: number; limit: number },
  ): Promise<{ members: ListMember[]; total: number }> {
    return this.#read(() => this.#lists.page(list, offset, limit, range));
  }

  async before(
    list: string,
    { before, limit, ...range }: ListRange & { before: number | null; limit: number },
  ): Promise<ListMember[]> {
    return this.#read(() => this.#lists.before(list, before, limit, range));
  }

  async clear(owned: OwnedRows): Promise<void> {
    await this.#writer.turn('clear', owned);
    for (const table of owned.tables) this.#tables.delete(table);
  }

  next(owned: OwnedRows): NextRows {
    const name = NEXT + owned.projection;
    const checkpoint = (): Position | undefined => this.#checkpoint.get(name)?.position;
    return {
      isBegun: async () => checkpoint() !== undefined,
      begin: async () => {
        await this.#writer.turn('beginNext', owned);
        return checkpoint() || null;
      },
      apply: (changes, checkpointAfter) =>
        this.#writer.apply({ projection: owned.projection, checkpoint: checkpointAfter, changes, isNext: true }),
      getMany: async <Kept extends object = Row>(table: Table<Kept>, keys: readonly string[]) =>
        (await this.#writer.nextRows(table, keys)).map((json) => (json === null ? null : (JSON.parse(json) as Kept))),
      promote: () => this.#writer.turn('promote', owned),
      drop: () => this.#writer.turn('dropNext', owned),
    };
  }

  async close(): Promise<void> {
    this.#archived.close();
    if (this.#db.isOpen) this.#db.close();
    await this.#writer.close();
  }

  #getMany(table: string, keys: readonly string[]): (Row | null)[] {
    if (keys.length === 0) return [];
    return this.#retrying(() => {
      const queries = this.#table(table);
      if (!queries) return keys.map(() => null);
      // Either way a single statement, which sees one commit without an explicit transaction.
      const rows = this.#rowsByHints(queries, keys) ?? arrayIn<Row | null>(queries.byKeys.get(JSON.stringify(keys)));
      return rows.map((row) => this.#archived.row(row));
    });
  }

  /** Everything read inside belongs to one commit. */
  #read<Value>(work: () => Value): Value {
    return this.#retrying(() => this.#readOnce(work));
  }

  /** A known table may just have been cleared; it is then looked up again. */
  #retrying<Value>(work: () => Value): Value {
    try {
      return work();
    } catch (error) {
      if (this.#tables.size === 0 || !this.#db.isOpen) throw error;
      this.#tables.clear();
      return work();
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

  /** The rows of members just paged; null if a hint is missing or outdated. */
  #rowsByHints(queries: RowQueries, keys: readonly string[]): Row[] | null {
    const ids: number[] = [];
    for (const key of keys) {
      const id = this.#lists.rowHints.get(key);
      if (id === undefined) return null;
      ids.push(id);
    }
    const found = arrayIn<string | Row>(queries.byIds.get(JSON.stringify(ids)));
    const isRight = keys.every((key, index) => found[2 * index] === key);
    return isRight ? found.filter((part): part is Row => typeof part === 'object') : null;
  }

  /** Null if nothing was ever written to the table. */
  #table(name: string): RowQueries | null {
    const known = this.#tables.get(name);
    if (known) return known;
    const row = this.#tableId.get(rowTable(''), name);
    if (!row) return null;
    const table = rowTable(row.id);
    const queries: RowQueries = {
      // The left join preserves the order of the keys.
      byKeys: arrayQuery(
        this.#db,
        `SELECT '[' || group_concat(coalesce(r.row, 'null')) || ']' FROM json_each(?) AS k LEFT JOIN ${table} AS r ON r.key = k.value`,
      ),
      byIds: arrayQuery(
        this.#db,
        `SELECT '[' || group_concat(coalesce(json_quote(r.key) || ',' || r.row, 'null,null')) || ']' FROM json_each(?) AS k LEFT JOIN ${table} AS r ON r.id = k.value`,
      ),
      scan: arrayQuery(this.#db, `SELECT key, row FROM ${table} WHERE key > ? ORDER BY key LIMIT ?`),
      byKey: arrayQuery(this.#db, `SELECT row FROM ${table} WHERE key = ?`),
      since: arrayQuery(this.#db, `SELECT id, key FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`),
    };
    this.#tables.set(name, queries);
    return queries;
  }
}

const arrayIn = <Item>(found: readonly [json: string] | undefined): readonly Item[] =>
  JSON.parse(must(found)[0]) as readonly Item[];
