import type { Change } from '../../ports/read-model.ts';

/** Changes as one flat array: it crosses to the writer's thread several times faster than objects, and rows only as text. */
export type FlatChanges = readonly (string | number)[];

export interface FlatApply {
  readonly projection: string;
  readonly checkpoint: string;
  readonly changes: FlatChanges;
  /** Of the rows that are not served yet. */
  readonly isNext: boolean;
}

export interface ChangeTarget {
  put(table: string, key: string, json: string): void;
  remove(table: string, key: string): void;
  enlist(list: string, member: string, order: number, atSec: number): void;
  delist(list: string, member: string, order: number): void;
}

export function flatten(changes: readonly Change[]): FlatChanges {
  const flat: (string | number)[] = [];
  for (const change of changes) {
    switch (change.op) {
      case 'put':
        flat.push('put', change.table, change.key, JSON.stringify(change.row));
        break;
      case 'delete':
        flat.push('delete', change.table, change.key);
        break;
      case 'enlist':
        flat.push('enlist', change.list, change.member, change.order, change.atSec);
        break;
      case 'delist':
        flat.push('delist', change.list, change.member, change.order);
        break;
    }
  }
  return flat;
}

const WIDTH = { put: 4, delete: 3, enlist: 5, delist: 4 } as const;

export function replay(flat: FlatChanges, target: ChangeTarget): void {
  let at = 0;
  const text = (offset: number): string => flat[at + offset] as string;
  const number = (offset: number): number => flat[at + offset] as number;
  while (at < flat.length) {
    const op = flat[at] as Change['op'];
    if (op === 'put') target.put(text(1), text(2), text(3));
    else if (op === 'delete') target.remove(text(1), text(2));
    else if (op === 'enlist') target.enlist(text(1), text(2), number(3), number(4));
    else target.delist(text(1), text(2), number(3));
    at += WIDTH[op];
  }
}
