export type Cell = string | number | null;

export interface TableSchema {
  readonly name: string;
  /** In column order, beginning with the key. */
  readonly columns: Readonly<Record<string, 'TEXT' | 'INTEGER' | 'REAL'>>;
  /** Number of columns in the key. */
  readonly key: number;
  readonly indexes?: readonly (readonly string[])[];
}

/** A file of tables for programs that query with SQL. It appears complete or not at all. */
export interface TableFile {
  /** Inserts a row, replacing one with the same key. */
  put(table: string, cells: readonly Cell[]): void;
  /** Updates columns of the row with the key; does nothing if there is none. */
  change(table: string, key: readonly Cell[], columns: Readonly<Record<string, Cell>>): void;
  /** Moves the file to its place, read-only. */
  finish(): void;
  /** Removes all traces of it. */
  abandon(): void;
}

/** Throws if the file cannot be written. */
export type CreateTableFile = (path: string, schemas: readonly TableSchema[]) => TableFile;
