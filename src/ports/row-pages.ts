import type { ReadModel, Row, Table } from './read-model.ts';
import { must } from '../domain/must.ts';

const PAGE = 1_000;

/**
 * The rows of a table in the order of their keys, a page at a time: those after the key, and with a prefix those that
 * begin with it alone. Each page is asked for when the one before is done with.
 */
export async function* rowPages<Kept extends object = Row>(
  readModel: Pick<ReadModel, 'scan'>,
  table: Table<Kept>,
  {
    prefix = '',
    after = prefix,
    limit = PAGE,
  }: { readonly prefix?: string; readonly after?: string; readonly limit?: number } = {},
): AsyncGenerator<{ key: string; row: Kept }[]> {
  for (let afterKey = after; ;) {
    const page = await readModel.scan(table, { afterKey, limit });
    const own = page.filter(({ key }) => key.startsWith(prefix));
    yield own;
    if (own.length < limit) return;
    afterKey = must(own.at(-1)).key;
  }
}
