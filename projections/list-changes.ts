import type { Change } from '../src/ports/read-model.ts';

/** Stands for "any" in the name of a filtered list. */
const ANY = '*';

/** The name of the list of a scope under filters, given in the order of the scope's dimensions; undefined is no filter. */
export function filteredList(scope: string, filters: readonly (string | undefined)[]): string {
  return `${scope}/${filters.map((value) => value ?? ANY).join('/')}`;
}

/** Every list that a member is on, given the values it has in each dimension: one for each combination of filters that it meets. */
export function filteredLists(scope: string, dimensions: readonly (readonly string[])[]): string[] {
  return dimensions.reduce<string[]>(
    (names, values) => names.flatMap((name) => [`${name}/${ANY}`, ...values.map((value) => `${name}/${value}`)]),
    [scope],
  );
}

/** What must change so that a member, which was on the lists of `before`, is on those of `after`. */
export function listChanges(place: { member: string; order: number; atSec: number }, before: readonly string[], after: readonly string[]): Change[] {
  const { member, order, atSec } = place;
  const changes: Change[] = [];
  for (const list of before) if (!after.includes(list)) changes.push({ op: 'delist', list, member, order });
  for (const list of after) if (!before.includes(list)) changes.push({ op: 'enlist', list, member, order, atSec });
  return changes;
}
