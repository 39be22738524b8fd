import { csvRow, type CsvCell } from '../runtime/util/csv.ts';
import type { Column } from './parts.ts';

/** The columns of a table as RFC 4180. */
export async function* csvOf<Row>(columns: readonly Column<Row>[], pages: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  yield csvRow(columns.map(({ name }) => name));
  for await (const rows of pages) yield rows.map((row) => csvRow(columns.map((column) => textOf(column, row)))).join('');
}

function textOf<Row>({ text, cell: shown }: Column<Row>, row: Row): CsvCell {
  if (text) return text(row);
  const value = shown(row);
  return value === null || typeof value === 'string' || typeof value === 'number' ? value : value.text.replaceAll(/<[^>]*>/g, '');
}
