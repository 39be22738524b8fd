import type { Position } from '../event-log/event-store.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };
/** JSON of a type that its table knows. */
export type Row = object;

declare const rowOf: unique symbol;

/** The name of a table, typed with its rows. */
export type Table<Kept extends object = Row> = string & { readonly [rowOf]?: Kept };

/**
 * Changes of a projection to its tables. A list holds members in the order of `order` (a gapless ordinal that the
 * projection counts itself, from 0), each with the time under which it is listed. `atSec` never decreases within a
 * list, and an order belongs to one member forever. Every change may be repeated: enlisting a member again and
 * delisting an unlisted one change nothing.
 *
 * Lists whose names agree up to a `VIEW_MARK` are views of one ordinal list: an order has the same member and time in
 * each of them, so a store can keep those only once.
 */
export type Change =
  | { readonly op: 'put'; readonly table: string; readonly key: string; readonly row: object }
  | { readonly op: 'delete'; readonly table: string; readonly key: string }
  | {
      readonly op: 'enlist';
      readonly lists: readonly string[];
      readonly member: string;
      readonly order: number;
      readonly atSec: number;
    }
  | { readonly op: 'delist'; readonly lists: readonly string[]; readonly member: string; readonly order: number };

export const VIEW_MARK = '?';

export type RowChange = Extract<Change, { op: 'put' | 'delete' }>;

/** Whether the change writes a row of the table. */
export const isPut = <Kept extends object>(
  table: Table<Kept>,
  change: RowChange,
): change is RowChange & { readonly op: 'put'; readonly row: Kept } => change.op === 'put' && change.table === table;

/** Writes a row, which is JSON of the table's type. */
export const putRow = <Kept extends object>(table: Table<Kept>, key: string, row: Kept): RowChange => ({
  op: 'put',
  table,
  key,
  row,
});

export interface ListMember {
  readonly member: string;
  readonly order: number;
}

export interface ListRange {
  /** Unix seconds, inclusive. */
  readonly fromSec?: number;
  readonly toSec?: number;
}

/** Everything that belongs to one projection. */
export interface OwnedRows {
  /** `name@version`. */
  readonly projection: string;
  readonly tables: readonly string[];
  /** Names of lists up to and including their first slash. */
  readonly lists: readonly string[];
}

/**
 * Rows of a projection that are built beside the served ones and replace them in one step. Only their builder reads
 * them. The fact that they were begun outlives the process.
 */
export interface NextRows extends Pick<ReadModel, 'getMany'> {
  isBegun(): Promise<boolean>;
  /** Begins, or continues from the checkpoint. Also null if built rows did not outlive the process that built them. */
  begin(): Promise<Position | null>;
  /** Like `ReadModel.apply`. */
  apply(changes: readonly Change[], checkpoint: Position): Promise<void>;
  /**
   * Serves the rows with their checkpoint and drops the ones served so far. If it rejects, the builder must begin
   * again.
   */
  promote(): Promise<void>;
  drop(): Promise<void>;
}

/**
 * Rebuildable look-ups with a single writing process. Rows and checkpoint of one projection change in one atomic step.
 */
export interface ReadModel {
  checkpoint(projection: string): Promise<Position | null>;
  /**
   * Identifies the history of a projection's rows: changes when they are cleared or replaced, null before they are
   * begun. Readers of many rows compare it before and after.
   */
  generation(projection: string): Promise<string | null>;
  /** Atomic. An apply without an answer may be repeated, with at least the same changes. */
  apply(projection: string, changes: readonly Change[], checkpoint: Position): Promise<void>;
  get<Kept extends object = Row>(table: Table<Kept>, key: string): Promise<Kept | null>;
  /** In the order of the keys; null where there is no row. */
  getMany<Kept extends object = Row>(table: Table<Kept>, keys: readonly string[]): Promise<(Kept | null)[]>;
  /**
   * Every row of a table, ordered by the UTF-8 bytes of its key, in pages. The cost grows with `limit`, not with the
   * table.
   */
  scan<Kept extends object = Row>(
    table: Table<Kept>,
    options: { readonly afterKey?: string; readonly limit: number },
  ): Promise<{ key: string; row: Kept }[]>;
  /** Synchronous: a row, and the generation of its projection at the same moment. */
  peek<Kept extends object = Row>(
    projection: string,
    table: Table<Kept>,
    key: string,
  ): { readonly row: Kept | null; readonly generation: string | null };
  /**
   * Keys in the order in which their rows were first written, after a place; `place` is that of the last one. Only for
   * tables whose rows are never deleted; places of one generation mean nothing in another.
   */
  keysSince(
    projection: string,
    table: Table,
    place: number,
    limit: number,
  ): Promise<{ readonly generation: string | null; readonly keys: readonly string[]; readonly place: number }>;
  /** Members newest first by rank, with the total in range. The cost does not grow with `offset` or the total. */
  page(
    list: string,
    options: ListRange & { readonly offset: number; readonly limit: number },
  ): Promise<{ members: ListMember[]; total: number }>;
  /** Members newest first with `order` below `before` (all if null). */
  before(
    list: string,
    options: ListRange & { readonly before: number | null; readonly limit: number },
  ): Promise<ListMember[]>;
  /** Removes everything of one projection, including rows being built beside it. */
  clear(owned: OwnedRows): Promise<void>;
  next(owned: OwnedRows): NextRows;
  close(): Promise<void>;
}
