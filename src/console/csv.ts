import { csvRow, type CsvCell } from '../runtime/util/csv.ts';
import type { Column } from './parts.ts';
import type { Shown } from './visit.ts';

/** The rows of a table as a file of RFC 4180, under the filters of the page; each page of rows is asked for when the one before is sent. */
export const csvFile = <Row>(
  name: string,
  columns: readonly Column<Row>[],
  pages: AsyncIterable<readonly Row[]> | readonly (readonly Row[])[],
): Shown => ({
  file: { name: `${name}.csv`, contentType: 'text/csv; charset=utf-8', chunks: csvOf(columns, pages) },
});

/** The names go out with the first rows, so that what is refused is said on a page, and not in a broken file. */
async function* csvOf<Row>(
  columns: readonly Column<Row>[],
  pages: AsyncIterable<readonly Row[]> | readonly (readonly Row[])[],
): AsyncGenerator<string> {
  let names = csvRow(columns.map(({ name }) => name));
  for await (const rows of pages) {
    yield names + rows.map((row) => csvRow(columns.map((column) => textOf(column, row)))).join('');
    names = '';
  }
  yield names;
}

function textOf<Row>({ text, cell: shown }: Column<Row>, row: Row): CsvCell {
  if (text) return text(row);
  const value = shown(row);
  return value === null || typeof value === 'string' || typeof value === 'number' ? value : value.text.replaceAll(/<[^>]*>/g, '');
}
