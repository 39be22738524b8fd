import { csvRow, type CsvCell } from '../runtime/util/csv.ts';
import { Html } from '../runtime/http/html.ts';
import type { Action } from './access.ts';
import { link, withQuery, type Column } from './parts.ts';
import type { ReadRoute, Visit } from './visit.ts';
import { Words, words } from './words.ts';

/** A table with all its rows, page by page. */
interface WholeTable<Row> {
  readonly columns: readonly Column<Row>[];
  readonly pages: AsyncIterable<readonly Row[]> | readonly (readonly Row[])[];
}

/**
 * The table of a page as a CSV file (RFC 4180), with the permission of the page and the filters of its URL. Each page
 * of rows is fetched once the one before is sent.
 */
export const csvRoute = <Row>(
  path: string,
  action: Action,
  table: (visit: Visit) => WholeTable<Row> | Promise<WholeTable<Row>>,
): ReadRoute => ({
  path: `${path}.csv`,
  action,
  show: async (visit) => ({
    file: {
      name: `${path.slice(path.lastIndexOf('/') + 1)}.csv`,
      contentType: 'text/csv; charset=utf-8',
      chunks: csvOf(await table(visit)),
    },
  }),
});

/** A link to the CSV file of the current page, or of a part of it. */
export const csvLink = ({ path, query }: Pick<Visit, 'path' | 'query'>, of = path, text = words`Download CSV`): Html =>
  link(withQuery(`${of}.csv`, query, { cursor: null, done: null }), text);

/** All rows of a list that is paged by cursors. */
export async function* everyPage<Row>(
  ask: (cursor: string | null) => Promise<{ readonly rows: readonly Row[]; readonly next: string | null }>,
): AsyncGenerator<readonly Row[]> {
  for (let cursor: string | null = null; ;) {
    const page: Awaited<ReturnType<typeof ask>> = await ask(cursor);
    yield page.rows;
    if (page.next === null) return;
    cursor = page.next;
  }
}

/** The header is sent with the first rows, so that a refusal shows on a page and not in a broken file. */
async function* csvOf<Row>({ columns, pages }: WholeTable<Row>): AsyncGenerator<string> {
  const shown = columns.filter(({ isForm }) => isForm !== true);
  let names = csvRow(shown.map(({ name }) => String(name)));
  for await (const rows of pages) {
    yield names + rows.map((row) => csvRow(shown.map((column) => textOf(column, row)))).join('');
    names = '';
  }
  yield names;
}

const textOf = <Row>({ text, cell: shown }: Column<Row>, row: Row): CsvCell => {
  const value = text ? text(row) : shown(row);
  return value instanceof Html || value instanceof Words ? String(value) : value;
};
