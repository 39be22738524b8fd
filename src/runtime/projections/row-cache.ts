import type { Row } from '../../ports/read-model/read-model.ts';

type Rows = Map<string, Row | null>;

/**
 * The most recently used rows, as committed. Bounded; rows of a running batch stay in `BatchRows` until the commit.
 * Rows not used while half of the capacity was filled with others are dropped together, which is cheaper than tracking
 * the order of use.
 */
export class RowCache {
  readonly #maxYoung: number;
  #young = new Map<string, Rows>();
  #old = new Map<string, Rows>();
  #youngCount = 0;

  constructor(maxRows: number) {
    this.#maxYoung = Math.max(1, Math.floor(maxRows / 2));
  }

  /** Undefined if it is not cached, null if there is no such row. */
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

  /** Does not add rows that are not cached. */
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
