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
