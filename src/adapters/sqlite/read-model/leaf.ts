import { LEAF_ORDERS } from './ranks.ts';

/** A member of an ordinal list. */
export interface LeafMember {
  readonly atSec: number;
  /** Location of the member's row; a hint, 0 if there is none. */
  readonly rowId: number;
  readonly member: string;
}

/*
 * A leaf of an ordinal list is one text with a line per order, starting with the leaf's first one, empty where there is
 * no member: "second row member". One row per leaf instead of one per member makes lists cheap to maintain, because
 * most changes fall into the newest leaf.
 */

export type Lines = readonly (string | undefined)[];

export const lineOf = (atSec: number, rowId: number, member: string): string => `${atSec} ${rowId} ${member}`;

export function memberOfLine(line: string): string {
  return line.slice(line.indexOf(' ', line.indexOf(' ') + 1) + 1);
}

export const secondOfLine = (line: string): number => Number(line.slice(0, line.indexOf(' ')));

/** The lines of a stored leaf, by place. */
export const linesOf = (text: string): string[] => (text === '' ? [] : text.split('\n'));

/** The line of an order of the leaf; undefined if there is none. */
export const lineAt = (lines: Lines, order: number): string | undefined => lines[order % LEAF_ORDERS] || undefined;

/** The last line of a leaf, which is never empty. */
export const lastLineOf = (text: string): string => text.slice(text.lastIndexOf('\n') + 1);

/** Finds lines of one stored leaf after another, in ascending order, without splitting lines that are not requested. */
export class LeafWalk {
  readonly #text: string;
  #place = 0;
  /** Where the line of the place begins. */
  #start = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Like `lineAt`. Orders must not decrease. */
  lineAt(order: number): string | undefined {
    for (const place = order % LEAF_ORDERS; this.#place < place; this.#place += 1) {
      const end = this.#text.indexOf('\n', this.#start);
      if (end < 0) return undefined;
      this.#start = end + 1;
    }
    const end = this.#text.indexOf('\n', this.#start);
    return this.#text.slice(this.#start, end < 0 ? undefined : end) || undefined;
  }
}

export const textOf = (lines: Lines): string => lines.join('\n');

export function readLine(line: string): LeafMember {
  const first = line.indexOf(' ');
  const second = line.indexOf(' ', first + 1);
  return {
    atSec: Number(line.slice(0, first)),
    rowId: Number(line.slice(first + 1, second)),
    member: line.slice(second + 1),
  };
}
