import { median } from '../../bench/section.ts';
import type { Sample } from './samples.ts';

/** A figure that must not grow with time: by no more than this from the second quarter to the last one. */
interface Flat {
  readonly name: string;
  readonly share: number;
  readonly atLeast: number;
}

const FLAT: readonly Flat[] = [
  { name: 'service memory MB', share: 0.15, atLeast: 40 },
  { name: 'signer memory MB', share: 0.15, atLeast: 30 },
  { name: 'service handles', share: 0.1, atLeast: 20 },
  { name: 'signer handles', share: 0.1, atLeast: 10 },
  { name: 'service threads', share: 0, atLeast: 2 },
  { name: 'signer threads', share: 0, atLeast: 2 },
  { name: 'files', share: 0.1, atLeast: 50 },
  { name: 'events behind', share: 0, atLeast: 50 },
  { name: 'create ms p50', share: 0.5, atLeast: 20 },
  { name: 'paid ms p50', share: 0.5, atLeast: 1_000 },
];

export interface Judged {
  readonly name: string;
  readonly second: number;
  readonly last: number;
  readonly isFlat: boolean;
}

/** Medians of the second and the last quarter, of the samples that no fault disturbed. */
export function judge(samples: readonly Sample[]): Judged[] {
  const quarter = samples.at(-1)!.atSec / 4;
  const quiet = samples.filter(({ isQuiet }) => isQuiet);
  return FLAT.flatMap(({ name, share, atLeast }) => {
    const between = (from: number, to: number): number[] =>
      quiet.flatMap(({ atSec, figures }) =>
        atSec >= from && atSec < to && figures[name] !== undefined ? [figures[name]] : [],
      );
    const [second, last] = [median(between(quarter, 2 * quarter)), median(between(3 * quarter, Infinity))];
    return [{ name, second, last, isFlat: last - second <= Math.max(second * share, atLeast) }];
  });
}
