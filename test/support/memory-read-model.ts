import type {
  Change,
  ListMember,
  ListRange,
  NextRows,
  OwnedRows,
  ReadModel,
  Row,
  Table,
} from '../../src/ports/read-model/read-model.ts';

interface Entry extends ListMember {
  readonly atSec: number;
}

const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** JSON of any table. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** The plainest read model that keeps the contract: maps and sorted arrays. */
export class MemoryReadModel implements ReadModel {
  readonly checkpoints = new Map<string, string>();
  readonly tables = new Map<string, Map<string, StoredRow>>();
  /** Newest first. */
  readonly lists = new Map<string, Entry[]>();
  #cleared = 0;
  /** By table and key: the order in which rows were first written. */
  readonly #places = new Map<string, number>();
  #lastPlace = 0;
  /** What is built beside, by projection. */
  readonly nextModels = new Map<string, MemoryReadModel>();

  async checkpoint(projection: string): Promise<string | null> {
    return this.checkpoints.get(projection) ?? null;
  }

  async generation(projection: string): Promise<string | null> {
    return this.checkpoints.has(projection) ? String(this.#cleared) : null;
  }

  async apply(projection: string, changes: readonly Change[], checkpoint: string): Promise<void> {
    if (changes.some((change) => 'order' in change && (!Number.isInteger(change.order) || change.order < 0)))
      throw new RangeError('not an order');
    for (const change of changes) this.#apply(change);
    this.checkpoints.set(projection, checkpoint);
  }

  async get<Kept extends object = Row>(table: Table<Kept>, key: string): Promise<Kept | null> {
    return structuredClone((this.tables.get(table)?.get(key) as Kept | undefined) ?? null);
  }

  async getMany<Kept extends object = Row>(table: Table<Kept>, keys: readonly string[]): Promise<(Kept | null)[]> {
    return Promise.all(keys.map((key) => this.get(table, key)));
  }

  async scan<Kept extends object = Row>(
    table: Table<Kept>,
    { afterKey = '', limit }: { afterKey?: string; limit: number },
  ): Promise<{ key: string; row: Kept }[]> {
    const keys = [...(this.tables.get(table)?.keys() ?? [])].sort(byBytes);
    const page = keys.filter((key) => byBytes(key, afterKey) > 0).slice(0, limit);
    return page.map((key) => ({ key, row: structuredClone(this.tables.get(table)!.get(key) as Kept) }));
  }

  peek<Kept extends object = Row>(
    projection: string,
    table: Table<Kept>,
    key: string,
  ): { row: Kept | null; generation: string | null } {
    return {
      row: structuredClone((this.tables.get(table)?.get(key) as Kept | undefined) ?? null),
      generation: this.checkpoints.has(projection) ? String(this.#cleared) : null,
    };
  }

  async keysSince(
    projection: string,
    table: Table,
    place: number,
    limit: number,
  ): Promise<{ generation: string | null; keys: string[]; place: number }> {
    const placeOf = (key: string): number => this.#places.get(`${table} ${key}`)!;
    const keys = [...(this.tables.get(table)?.keys() ?? [])]
      .filter((key) => placeOf(key) > place)
      .sort((one, other) => placeOf(one) - placeOf(other))
      .slice(0, limit);
    return {
      generation: await this.generation(projection),
      keys,
      place: keys.length === 0 ? place : placeOf(keys.at(-1)!),
    };
  }

  async page(
    list: string,
    { offset, limit, ...range }: ListRange & { offset: number; limit: number },
  ): Promise<{ members: ListMember[]; total: number }> {
    const found = this.#within(list, range);
    return { members: found.slice(offset, offset + limit).map(plain), total: found.length };
  }

  async before(
    list: string,
    { before, limit, ...range }: ListRange & { before: number | null; limit: number },
  ): Promise<ListMember[]> {
    return this.#within(list, range)
      .filter((entry) => before === null || entry.order < before)
      .slice(0, limit)
      .map(plain);
  }

  async clear(owned: OwnedRows): Promise<void> {
    this.#cleared += 1;
    this.nextModels.delete(owned.projection);
    this.#forget(owned);
  }

  next(owned: OwnedRows): NextRows {
    const { projection } = owned;
    const built = (): MemoryReadModel => this.nextModels.get(projection) ?? new MemoryReadModel();
    return {
      isBegun: async () => this.nextModels.has(projection),
      begin: async () => {
        const model = built();
        this.nextModels.set(projection, model);
        return model.checkpoint(projection);
      },
      apply: (changes, checkpoint) => built().apply(projection, changes, checkpoint),
      getMany: (table, keys) => built().getMany(table, keys),
      promote: async () => {
        const model = built();
        const checkpoint = model.checkpoints.get(projection);
        if (checkpoint === undefined) throw new Error(`nothing was built of ${projection}`);
        this.#forget(owned);
        this.#cleared += 1;
        this.checkpoints.set(projection, checkpoint);
        for (const [name, rows] of model.tables) this.tables.set(name, rows);
        for (const [name, place] of model.#places) this.#places.set(name, place);
        this.#lastPlace = Math.max(this.#lastPlace, model.#lastPlace);
        for (const [name, members] of model.lists) this.lists.set(name, members);
        this.nextModels.delete(projection);
      },
      drop: async () => void this.nextModels.delete(projection),
    };
  }

  async close(): Promise<void> {}

  #forget({ projection, tables, lists }: OwnedRows): void {
    this.checkpoints.delete(projection);
    for (const table of tables) this.tables.delete(table);
    for (const name of [...this.lists.keys()])
      if (lists.some((prefix) => name.startsWith(prefix))) this.lists.delete(name);
  }

  #within(list: string, { fromSec = -Infinity, toSec = Infinity }: ListRange): Entry[] {
    return (this.lists.get(list) ?? []).filter((entry) => entry.atSec >= fromSec && entry.atSec <= toSec);
  }

  #apply(change: Change): void {
    if (change.op === 'put') this.#put(change);
    else if (change.op === 'delete') this.#table(change.table).delete(change.key);
    else {
      for (const list of change.lists) {
        const others = (this.lists.get(list) ?? []).filter(
          (entry) => entry.order !== change.order || entry.member !== change.member,
        );
        if (change.op === 'enlist') others.push({ member: change.member, order: change.order, atSec: change.atSec });
        this.lists.set(
          list,
          others.sort((one, other) => other.order - one.order),
        );
      }
    }
  }

  #put({ table, key, row }: Extract<Change, { op: 'put' }>): void {
    const rows = this.#table(table);
    if (!rows.has(key)) this.#places.set(`${table} ${key}`, (this.#lastPlace += 1));
    rows.set(key, structuredClone(row) as StoredRow);
  }

  #table(name: string): Map<string, StoredRow> {
    const table = this.tables.get(name) ?? new Map<string, StoredRow>();
    this.tables.set(name, table);
    return table;
  }
}

const plain = ({ member, order }: Entry): ListMember => ({ member, order });
