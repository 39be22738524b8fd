import type { Column } from './parts.ts';

/** A cell that spreadsheets take for a formula is text all the same. */
function cell(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) && !/^-?\d+(\.\d+)?$/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvLine(values: readonly (string | number | null)[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

/** The columns of a table as RFC 4180. */
export async function* csvOf<Row>(columns: readonly Column<Row>[], pages: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  yield csvLine(columns.map(({ name }) => name));
  for await (const rows of pages) yield rows.map((row) => csvLine(columns.map((column) => textOf(column, row)))).join('');
}

function textOf<Row>({ text, cell: shown }: Column<Row>, row: Row): string | number | null {
  if (text) return text(row);
  const value = shown(row);
  return value === null || typeof value === 'string' || typeof value === 'number' ? value : value.text.replaceAll(/<[^>]*>/g, '');
}
