export type Cell = string | number | null;

export interface TableSchema {
  readonly name: string;
  /** In the order of the columns; the key comes first. */
  readonly columns: Readonly<Record<string, 'TEXT' | 'INTEGER' | 'REAL'>>;
  /** How many of the columns tell a row from others. */
  readonly key: number;
  readonly indexes?: readonly (readonly string[])[];
}

/** A file of tables for programs that ask in SQL. It is there as a whole, or not at all. */
export interface TableFile {
  /** Puts a row in the place of the one with its key. */
  put(table: string, cells: readonly Cell[]): void;
  /** Changes columns of the row with the key; none changes where there is no such row. */
  change(table: string, key: readonly Cell[], columns: Readonly<Record<string, Cell>>): void;
  /** Puts the file in its place, for reading alone. */
  finish(): void;
  /** Leaves no trace of it. */
  abandon(): void;
}

/** Throws when the file cannot be written. */
export type CreateTableFile = (path: string, schemas: readonly TableSchema[]) => TableFile;
