export type CsvCell = string | number | null;

const NUMBER = /^-?\d+(\.\d+)?$/;

/** RFC 4180. Text that a spreadsheet would interpret as a formula gets a leading apostrophe, which makes it text. */
export function csvCell(cell: CsvCell): string {
  if (cell === null) return '';
  if (typeof cell === 'number' || NUMBER.test(cell)) return String(cell);
  const text = /^\s*[=+\-@|%\uFF1D\uFF0B\uFF0D\uFF20]|^\s/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csvRow = (cells: readonly CsvCell[]): string => `${cells.map(csvCell).join(',')}\r\n`;
