import type { JsonValue } from '../ports/read-model/read-model.ts';
import { inert, isList, isObject } from './print.ts';
import { must } from '../domain/values/must.ts';

export interface Column {
  readonly title: string;
  readonly field: string;
  readonly align?: 'right';
}

export type Cells = { readonly [key: string]: JsonValue };

/** What an answer holds under names; nothing for any other value. */
export const cellsIn = (value: JsonValue | undefined): Cells => (value !== undefined && isObject(value) ? value : {});

export const rowsIn = (value: JsonValue | undefined): readonly Cells[] =>
  value !== undefined && isList(value) ? value.map(cellsIn) : [];

/** Rows as aligned columns, for people. */
export function tableOf(columns: readonly Column[], rows: readonly Cells[]): string {
  const cells = rows.map((row) => columns.map(({ field }) => textOf(row[field])));
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((row) => must(row[index]).length)),
  );
  const lineOf = (row: readonly string[]): string =>
    row
      .map((cell, index) =>
        must(columns[index]).align === 'right' ? cell.padStart(must(widths[index])) : cell.padEnd(must(widths[index])),
      )
      .join('  ')
      .trimEnd();
  return [
    lineOf(columns.map(({ title }) => title)),
    lineOf(widths.map((width) => '-'.repeat(width))),
    ...cells.map(lineOf),
  ].join('\n');
}

/** A value in readable form; empty for none. */
export function textOf(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '';
  return inert(typeof value === 'string' ? value : JSON.stringify(value));
}
