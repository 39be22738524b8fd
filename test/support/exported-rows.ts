import type { AdminArguments } from '../../src/operator/server/commands.ts';
import type { BooksOffice } from './books-office.ts';

export type Row = Readonly<Record<string, string | number | null>>;

/** Rows of a document as JSON Lines. */
export async function rowsOf(office: BooksOffice, args: AdminArguments): Promise<Row[]> {
  const text = (await office.exported({ format: 'jsonl', ...args })).toString();
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Row]));
}
