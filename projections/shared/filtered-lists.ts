import { VIEW_MARK } from '../../src/ports/read-model.ts';

/** Stands for "any" in the name of a filtered list. */
const ANY = '*';

/**
 * The name of the list of a scope under filters, given in the order of the scope's dimensions; undefined is no filter. Whatever the filters, it is a
 * view of the same members.
 */
export function filteredList(scope: string, filters: readonly (string | undefined)[]): string {
  return `${scope}${VIEW_MARK}${filters.map((value) => value ?? ANY).join('/')}`;
}

const MOST_KNOWN = 10_000;
/** Thousands of members are on the same lists, whose names cost more than all else that is said of them. */
const known = new Map<string, readonly string[]>();

/** Every list that a member is on, given the values it has in each dimension: one for each combination of filters that it meets. */
export function filteredLists(scope: string, dimensions: readonly (readonly string[])[]): readonly string[] {
  let key = scope;
  for (const values of dimensions) {
    key += '/';
    for (const value of values) key += `${value} `;
  }
  let lists = known.get(key);
  if (!lists) {
    lists = namesOf(scope, dimensions);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(key, lists);
  }
  return lists;
}

function namesOf(scope: string, dimensions: readonly (readonly string[])[]): string[] {
  const combined = dimensions.reduce<string[][]>(
    (found, values) => found.flatMap((filters) => [ANY, ...values].map((value) => [...filters, value])),
    [[]],
  );
  return combined.map((filters) => filteredList(scope, filters));
}
