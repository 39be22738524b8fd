import type { PlantedChange } from '../support/planted-change.ts';

/** A protection that is taken out, and the tests that must notice. */
export interface Mutant {
  readonly without: string;
  readonly changes: readonly PlantedChange[];
  /** Each is a pattern of test names; of each, at least one test must fail. */
  readonly foundBy: readonly string[];
}
