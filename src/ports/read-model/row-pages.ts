import type { ReadModel, Row, Table } from './read-model.ts';
import { must } from '../../domain/values/must.ts';

const PAGE = 1_000;

/**
 * The rows of a table in key order, in pages: those after a key, optionally only those with a prefix. Each page is read
 * once the previous one is consumed.
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
