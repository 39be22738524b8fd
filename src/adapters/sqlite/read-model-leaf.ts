import { LEAF_ORDERS } from './read-model-ranks.ts';

/** A member in a leaf of a list. */
export interface LeafMember {
  readonly order: number;
  readonly atSec: number;
  /** Where the member's row was put; a hint, 0 when there is none. */
  readonly rowId: number;
  readonly member: string;
}

/*
 * A leaf of a list is one text: a line for each member in the order of `order`, with the order counted from the leaf's start: "order second row
 * member". One row a leaf instead of one a member is what makes lists cheap to keep: most changes to them fall into their newest leaf.
 */

export function lineOf(order: number, atSec: number, rowId: number, member: string): string {
  return `${order % LEAF_ORDERS} ${atSec} ${rowId} ${member}`;
}

export function memberOfLine(line: string): string {
  const first = line.indexOf(' ');
  const second = line.indexOf(' ', first + 1);
  return line.slice(line.indexOf(' ', second + 1) + 1);
}

/** Members of a stored leaf whose first order is `start`, lowest order first. */
export function membersOf(text: string, start: number): LeafMember[] {
  return text === '' ? [] : text.split('\n').map((line) => read(line, start));
}

function read(line: string, start: number): LeafMember {
  const first = line.indexOf(' ');
  const second = line.indexOf(' ', first + 1);
  const third = line.indexOf(' ', second + 1);
  return {
    order: start + Number(line.slice(0, first)),
    atSec: Number(line.slice(first + 1, second)),
    rowId: Number(line.slice(second + 1, third)),
    member: line.slice(third + 1),
  };
}
