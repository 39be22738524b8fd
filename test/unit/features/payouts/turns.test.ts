import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Turns } from '../../../../src/features/payouts/turns.ts';
import { runsOf } from '../../../support/runs.ts';

interface Item {
  readonly id: string;
  readonly owner: string;
}
const of = { id: ({ id }: Item) => id, owner: ({ owner }: Item) => owner };
const itemsOf = (owner: string, count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${owner}${index}`, owner }));

let nowMs = 0;
beforeEach(() => {
  nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => vi.restoreAllMocks());

describe('turns', () => {
  it('gives each owner one before any gets two, starting with the one served longest ago', () => {
    const turns = new Turns(0);
    const items = [...itemsOf('a', 5), ...itemsOf('b', 2), ...itemsOf('c', 1)];
    expect([...turns.take(items, 4, of)].map(of.owner)).toEqual(['a', 'b', 'c', 'a']);
    expect([...turns.take(items, 2, of)].map(of.owner)).toEqual(['b', 'c']);
  });

  it('lets a pause grow to at most sixteen times the first', () => {
    const turns = new Turns(1_000);
    const pauses: number[] = [];
    for (let time = 0; time < 7; time += 1) {
      turns.backOff('x');
      const fromMs = nowMs;
      while (!turns.isDue('x')) nowMs += 1_000;
      pauses.push((nowMs - fromMs) / 1_000);
    }
    expect(pauses).toEqual([4, 8, 16, 32, 64, 64, 64]);
    turns.clear('x');
    turns.backOff('x');
    nowMs += 4_000;
    expect(turns.isDue('x')).toBe(true);
  });

  it('tries new work within the stated rounds whatever waits, and waiting work whatever is new', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 0, max: 200 }),
        fc.integer({ min: 1, max: 5 }),
        (owners, waiting, k) => {
          nowMs = 0;
          const most = 20;
          const turns = new Turns(1);
          const others = Array.from({ length: owners - 1 }, (_, index) => itemsOf(`o${index}-`, 3)).flat();
          const stuck = itemsOf('m', waiting);
          for (const { id } of stuck) turns.postpone(id, 0);
          const fresh = itemsOf('m', waiting + k).slice(waiting);
          const wanted = fresh.at(-1)!.id;
          const bound = 2 * k * Math.ceil(owners / most);
          let rounds = 0;
          for (let seen = false; !seen; nowMs += 1_000) {
            rounds += 1;
            for (const item of turns.take([...stuck, ...others, ...fresh], most, of)) {
              if (item.id === wanted) seen = true;
              turns.backOff(item.id);
            }
            expect(rounds).toBeLessThanOrEqual(bound);
          }
        },
      ),
      { numRuns: runsOf(100) },
    );
    const turns = new Turns(0);
    turns.backOff('old');
    const tried: string[] = [];
    for (let round = 0; round < 2; round += 1)
      tried.push(
        ...[
          ...turns.take(
            [{ id: 'old', owner: 'm' }, ...itemsOf(`new${round}-`, 9).map(({ id }) => ({ id, owner: 'm' }))],
            1,
            of,
          ),
        ].map(of.id),
      );
    expect(tried).toContain('old');
  });
});
