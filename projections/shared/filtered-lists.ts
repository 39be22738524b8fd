import { memoized } from '../../src/domain/values/memoized.ts';
import { VIEW_MARK } from '../../src/ports/read-model/read-model.ts';

/** Stands for "any" in the name of a filtered list. */
const ANY = '*';

/**
 * The name of a scope's list under filters, in the order of the scope's dimensions; undefined is no filter. All of them
 * are views of the same members.
 */
export function filteredList(scope: string, filters: readonly (string | undefined)[]): string {
  return `${scope}${VIEW_MARK}${filters.map((value) => value ?? ANY).join('/')}`;
}

/** Every list of a member, given its values in each dimension: one for each combination of filters that it matches. */
export const filteredLists = (scope: string, dimensions: readonly (readonly string[])[]): readonly string[] =>
  listsOf({ scope, dimensions });

interface Asked {
  readonly scope: string;
  readonly dimensions: readonly (readonly string[])[];
}

/** Thousands of members are on the same lists. */
const listsOf = memoized(
  10_000,
  ({ scope, dimensions }: Asked): readonly string[] => {
    const combined = dimensions.reduce<string[][]>(
      (found, values) => found.flatMap((filters) => [ANY, ...values].map((value) => [...filters, value])),
      [[]],
    );
    return combined.map((filters) => filteredList(scope, filters));
  },
  (asked) => JSON.stringify(asked),
);
