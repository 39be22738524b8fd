import type { Position } from './event-store.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };
/** JSON, of a type that its table knows. */
export type Row = object;

declare const rowOf: unique symbol;

/** The name of a table, which knows what its rows are. */
export type Table<Kept extends object = Row> = string & { readonly [rowOf]?: Kept };

/**
 * What a projection does to the tables. A list holds members in the order of `order` (a dense ordinal the projection
 * counts itself, starting at 0), each with the time it is listed under; `atSec` never falls within a list, and an order
 * belongs to one member forever. Every change may be repeated: enlisting a member of the list and delisting a stranger
 * change nothing.
 *
 * Lists whose names agree up to a `VIEW_MARK` are views of one ordinalList: an order has the same member and the same
 * time in each of them, so that a store need keep those only once.
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

/** Writes a row, which is JSON and of the table's type. */
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
  /** Unix seconds, both inclusive. */
  readonly fromSec?: number;
  readonly toSec?: number;
}

/** What belongs to one projection. */
export interface OwnedRows {
  /** `name@version`. */
  readonly projection: string;
  readonly tables: readonly string[];
  /** Names of lists up to their first slash, that included. */
  readonly lists: readonly string[];
}

/**
 * Rows of a projection that are built beside those that are served, and take their place in one step. Nobody reads them
 * but their builder. That they were begun outlives the process.
 */
export interface NextRows extends Pick<ReadModel, 'getMany'> {
  isBegun(): Promise<boolean>;
  /**
   * Begins, or goes on from the checkpoint. Null also when what was built did not outlive the process that built it.
   */
  begin(): Promise<Position | null>;
  /** As `ReadModel.apply`. */
  apply(changes: readonly Change[], checkpoint: Position): Promise<void>;
  /**
   * They are served from now on, with their checkpoint; what was served is dropped. Whoever writes begins again when it
   * rejects.
   */
  promote(): Promise<void>;
  drop(): Promise<void>;
}

/**
 * Rebuildable look-ups, which one process writes. Rows and the checkpoint of one projection move in one atomic step.
 */
export interface ReadModel {
  checkpoint(projection: string): Promise<Position | null>;
  /**
   * Names the history of a projection's rows: another one once they were cleared or replaced, null while nobody has
   * begun. Whoever reads many rows compares it before and after.
   */
  generation(projection: string): Promise<string | null>;
  /** All of it or nothing. An apply without answer may be given again, with at least the same changes. */
  apply(projection: string, changes: readonly Change[], checkpoint: Position): Promise<void>;
  get<Kept extends object = Row>(table: Table<Kept>, key: string): Promise<Kept | null>;
  /** In the order of the keys; null where there is no row. */
  getMany<Kept extends object = Row>(table: Table<Kept>, keys: readonly string[]): Promise<(Kept | null)[]>;
  /**
   * Every row of a table, in the order of the keys' bytes in UTF-8, a page at a time. The cost grows with `limit`, not
   * with the table.
   */
  scan<Kept extends object = Row>(
    table: Table<Kept>,
    options: { readonly afterKey?: string; readonly limit: number },
  ): Promise<{ key: string; row: Kept }[]>;
  /** At once, for who cannot wait: a row, and the generation of its projection at the same moment. */
  peek<Kept extends object = Row>(
    projection: string,
    table: Table<Kept>,
    key: string,
  ): { readonly row: Kept | null; readonly generation: string | null };
  /**
   * Keys in the order in which their rows were first written, from behind a place on; `place` is that of the last one.
   * Of a table whose rows are never deleted; places of one generation say nothing in another.
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
  /** Members newest first with `order` below `before` (all when null). */
  before(
    list: string,
    options: ListRange & { readonly before: number | null; readonly limit: number },
  ): Promise<ListMember[]>;
  /** Forgets everything of one projection, also what is built beside it. */
  clear(owned: OwnedRows): Promise<void>;
  next(owned: OwnedRows): NextRows;
  close(): Promise<void>;
}
