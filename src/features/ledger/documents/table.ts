import { formatAmount, signedAmountOf } from '../../../domain/money/money.ts';
import type { DocumentTotal } from '../../../domain/events/document-events.ts';
import { csvRow, type CsvCell } from '../../../runtime/util/csv.ts';
import type { EntryRow } from '../../../../projections/ledger/rows.ts';
import { must } from '../../../domain/values/must.ts';

export const TABLE_FORMATS = ['csv', 'jsonl'] as const;
export type TableFormat = (typeof TABLE_FORMATS)[number];

/** Amounts show at least the decimals of a stablecoin, and more if they have more. */
const DECIMALS = 6;
export const amountCell = (units: bigint): string => formatAmount(units, DECIMALS);
export const timeCell = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();
/** Block time; null for facts that are not on a chain. */
export const chainTimeCell = (entry: Pick<EntryRow, 'chainTimeSec'> | null): string | null =>
  timeCell(entry?.chainTimeSec === undefined ? undefined : entry.chainTimeSec * 1000);

/** Orders the cells by column; missing cells are empty. */
export const rowOf = (columns: readonly string[], cells: Readonly<Record<string, CsvCell>>): CsvCell[] =>
  columns.map((name) => cells[name] ?? null);

/** Columns with rows in batches. */
export interface Table {
  readonly columns: readonly string[];
  /** Columns of amounts, summed by the columns `network` and `coin` where the table has them. */
  readonly amounts: readonly string[];
  rows(): AsyncIterable<readonly CsvCell[][]>;
}

/** Counts the rows of a table and sums its amounts. */
export class Tally {
  rows = 0;
  readonly #sums = new Map<
    string,
    { readonly column: string; readonly network: string | null; readonly coin: string | null; sum: bigint }
  >();

  take({ columns, amounts }: Pick<Table, 'columns' | 'amounts'>, cells: readonly CsvCell[]): void {
    this.rows += 1;
    const textOf = (column: string): string | null => {
      const cell = cells[columns.indexOf(column)];
      return typeof cell === 'string' ? cell : null;
    };
    for (const column of amounts) {
      const amount = textOf(column);
      if (amount !== null) this.add(column, textOf('network'), textOf('coin'), signedAmountOf(amount));
    }
  }

  add(column: string, network: string | null, coin: string | null, units: bigint): void {
    const key = `${column}/${network ?? ''}/${coin ?? ''}`;
    const total = this.#sums.get(key) ?? { column, network, coin, sum: 0n };
    total.sum += units;
    this.#sums.set(key, total);
  }

  totals(): DocumentTotal[] {
    return [...this.#sums]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, { column, network, coin, sum }]) => ({ column, network, coin, sum: amountCell(sum) }));
  }
}

/** A table as text. The consumer determines the pace. */
export async function* textOf(table: Table, format: TableFormat, tally = new Tally()): AsyncGenerator<string> {
  const { columns } = table;
  if (format === 'csv') yield csvRow(columns);
  for await (const rows of table.rows()) {
    for (const cells of rows) tally.take(table, cells);
    const text = rows.map((cells) => (format === 'csv' ? csvRow(cells) : jsonRow(columns, cells))).join('');
    if (text !== '') yield text;
  }
}

const jsonRow = (columns: readonly string[], cells: readonly CsvCell[]): string =>
  `${JSON.stringify(Object.fromEntries(cells.map((cell, index) => [must(columns[index]), cell])))}\n`;
