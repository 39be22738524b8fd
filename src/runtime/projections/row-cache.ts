import type { Row } from '../../ports/read-model.ts';

type Rows = Map<string, Row | null>;

/**
 * The rows used last, as committed. Bounded; the rows of one batch live in `BatchRows` until they are committed. Rows
 * not used while half of the bound was filled with others go together, which is cheaper than keeping an order of use.
 */
export class RowCache {
  readonly #maxYoung: number;
  #young = new Map<string, Rows>();
  #old = new Map<string, Rows>();
  #youngCount = 0;

  constructor(maxRows: number) {
    this.#maxYoung = Math.max(1, Math.floor(maxRows / 2));
  }

  /** Undefined when it is not cached, null when there is no such row. */
  get(table: string, key: string): Row | null | undefined {
    const young = this.#young.get(table)?.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(table)?.get(key);
    if (old !== undefined) this.keep(table, key, old);
    return old;
  }

  keep(table: string, key: string, row: Row | null): void {
    let rows = this.#young.get(table);
    if (!rows) this.#young.set(table, (rows = new Map<string, Row | null>()));
    const before = rows.size;
    rows.set(key, row);
    this.#youngCount += rows.size - before;
    if (this.#youngCount >= this.#maxYoung) this.#age();
  }

  /** A row that is not cached stays so. */
  refresh(table: string, key: string, row: Row | null): void {
    for (const rows of [this.#young.get(table), this.#old.get(table)]) if (rows?.has(key)) rows.set(key, row);
  }

  clear(): void {
    this.#young = new Map<string, Rows>();
    this.#old = new Map<string, Rows>();
    this.#youngCount = 0;
  }

  #age(): void {
    this.#old = this.#young;
    this.#young = new Map<string, Rows>();
    this.#youngCount = 0;
  }
}
