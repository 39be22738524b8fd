import type { RowRef } from '../ports/projection.ts';
import type { Change, ReadModel, Row } from '../ports/read-model.ts';

/** Tables' and lists' names and keys hold no NUL. */
export const refKey = ({ table, key }: RowRef): string => `${table}\0${key}`;

/** The rows used last, as committed. Bounded; the rows of one batch live in `BatchRows` until they are committed. */
export class RowCache {
  readonly #rows = new Map<string, Row | null>();
  readonly #maxRows: number;

  constructor(maxRows: number) {
    this.#maxRows = maxRows;
  }

  /** Undefined when it is not cached, null when there is no such row. */
  get(ref: string): Row | null | undefined {
    const row = this.#rows.get(ref);
    if (row === undefined) return undefined;
    this.#rows.delete(ref);
    this.#rows.set(ref, row);
    return row;
  }

  keep(ref: string, row: Row | null): void {
    this.#rows.delete(ref);
    this.#rows.set(ref, row);
    if (this.#rows.size > this.#maxRows) this.#rows.delete(this.#rows.keys().next().value!);
  }

  /** A row that is not cached stays so. */
  refresh(ref: string, row: Row | null): void {
    if (this.#rows.has(ref)) this.#rows.set(ref, row);
  }

  clear(): void {
    this.#rows.clear();
  }
}

/** The rows that one batch of one projection reads and writes. */
export class BatchRows {
  readonly #readModel: ReadModel;
  readonly #cache: RowCache;
  readonly #rows = new Map<string, Row | null>();
  /** Only what projections read is worth keeping. */
  readonly #named = new Set<string>();

  constructor(readModel: ReadModel, cache: RowCache) {
    this.#readModel = readModel;
    this.#cache = cache;
  }

  /** Throws for a row that was not loaded: the projection did not name it. */
  readonly read = (table: string, key: string): Row | null => {
    const row = this.#rows.get(refKey({ table, key }));
    if (row === undefined) throw new Error(`row of ${table} was read but not named beforehand`);
    return row;
  };

  /** Null when every row is at hand, so that the caller need not wait. */
  load(refs: readonly RowRef[]): Promise<void> | null {
    const missing = new Map<string, Map<string, string>>();
    for (const ref of refs) {
      const id = refKey(ref);
      this.#named.add(id);
      if (this.#rows.has(id)) continue;
      const cached = this.#cache.get(id);
      if (cached !== undefined) this.#rows.set(id, cached);
      else missing.set(ref.table, (missing.get(ref.table) ?? new Map<string, string>()).set(ref.key, id));
    }
    return missing.size === 0 ? null : this.#fetch(missing);
  }

  write(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.op === 'put') this.#rows.set(refKey(change), change.row);
      else if (change.op === 'delete') this.#rows.set(refKey(change), null);
    }
  }

  /** Once they are committed. */
  commit(): void {
    for (const ref of this.#named) this.#cache.keep(ref, this.#rows.get(ref) ?? null);
    // A row may be written without having been read, while an earlier batch's reading of it is still cached.
    for (const [ref, row] of this.#rows) if (!this.#named.has(ref)) this.#cache.refresh(ref, row);
  }

  async #fetch(missing: Map<string, Map<string, string>>): Promise<void> {
    for (const [table, keys] of missing) {
      const rows = await this.#readModel.getMany(table, [...keys.keys()]);
      [...keys.values()].forEach((id, index) => this.#rows.set(id, rows[index] ?? null));
    }
  }
}
