import type { ListMember, ListRange, ReadModel, Table } from '../../ports/read-model/read-model.ts';

/** A record with its place in a list. */
export interface Entry<ListedRow> {
  readonly order: number;
  readonly row: ListedRow;
}

/** Records newest first, by rank or below an order. */
export interface Source<ListedRow> {
  page(offset: number, limit: number): Promise<{ entries: readonly Entry<ListedRow>[]; total: number }>;
  before(before: number | null, limit: number): Promise<readonly Entry<ListedRow>[]>;
}

/** The records that a list names, in its order, without those that no longer exist. */
export async function entriesOf<ListedRow extends object>(
  readModel: Pick<ReadModel, 'getMany'>,
  table: Table<ListedRow>,
  members: readonly ListMember[],
): Promise<Entry<ListedRow>[]> {
  const rows = await readModel.getMany(
    table,
    members.map(({ member }) => member),
  );
  return members.flatMap(({ order }, index) => (rows[index] ? [{ order, row: rows[index] }] : []));
}

/** A list as it is stored, of records that were made between two seconds, both included. */
export function storedList<ListedRow extends object>(
  readModel: Pick<ReadModel, 'getMany' | 'page' | 'before'>,
  table: Table<ListedRow>,
  list: string,
  fromSec: number | undefined,
  toSec: number | undefined,
): Source<ListedRow> {
  const range: ListRange = { ...(fromSec !== undefined && { fromSec }), ...(toSec !== undefined && { toSec }) };
  return {
    page: async (offset, limit) => {
      const { members, total } = await readModel.page(list, { offset, limit, ...range });
      return { entries: await entriesOf(readModel, table, members), total };
    },
    before: async (before, limit) =>
      entriesOf(readModel, table, await readModel.before(list, { before, limit, ...range })),
  };
}

/** Entries must be newest first. */
export function inMemory<ListedRow>(entries: readonly Entry<ListedRow>[]): Source<ListedRow> {
  return {
    page: async (offset, limit) => ({ entries: entries.slice(offset, offset + limit), total: entries.length }),
    before: async (before, limit) => entries.filter((entry) => before === null || entry.order < before).slice(0, limit),
  };
}

/** Adds the oldest entry after all others. */
export function withOldest<ListedRow>(others: Source<ListedRow>, oldest: Entry<ListedRow>): Source<ListedRow> {
  return {
    page: async (offset, limit) => {
      const { entries, total } = await others.page(offset, limit);
      const isOnPage = offset <= total && total < offset + limit;
      return { entries: isOnPage ? [...entries, oldest] : entries, total: total + 1 };
    },
    before: async (before, limit) => {
      if (before !== null && before <= oldest.order) return [];
      const entries = await others.before(before, limit);
      return entries.length < limit ? [...entries, oldest] : entries;
    },
  };
}
