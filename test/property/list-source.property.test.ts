import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inMemory, withOldest } from '../../src/features/shared/list-source.ts';
import { runsOf } from '../support/runs.ts';

it('an oldest entry outside a list acts like the last of the list, on any page and below any position', async () => {
  const small = fc.integer({ min: 0, max: 8 });
  await fc.assert(
    fc.asyncProperty(
      small,
      small,
      fc.integer({ min: 1, max: 8 }),
      fc.option(small),
      async (others, offset, limit, before) => {
        const entries = Array.from({ length: others + 1 }, (_, index) => ({ order: others - index, row: index }));
        const [whole, parts] = [inMemory(entries), withOldest(inMemory(entries.slice(0, -1)), entries.at(-1)!)];
        expect(await parts.page(offset, limit)).toEqual(await whole.page(offset, limit));
        expect(await parts.before(before, limit)).toEqual(await whole.before(before, limit));
      },
    ),
    { numRuns: runsOf(500) },
  );
});
