import type { PlantedChange } from '../../support/planted-change.ts';

/** A fault that this repository once had, put back, or a protection taken out that such a fix added to. */
export interface Unfixed {
  readonly name: string;
  readonly changes: readonly PlantedChange[];
  /** Where in the world of plans it is looked for. */
  readonly where: readonly string[];
  /** Why it is not found; absent: it must be. */
  readonly notFound?: string;
}

export const unfixed = (
  name: string,
  where: string,
  file: string,
  from: string,
  to: string,
  notFound?: string,
): Unfixed => ({
  name,
  where: where === '' ? [] : where.split(' '),
  changes: [{ file, from, to }],
  ...(notFound !== undefined && { notFound }),
});
