import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Change, ListRange } from '../../src/ports/read-model.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { openTemporaryReadModel } from '../support/sqlite-read-model.ts';
import type { OpenedReadModel } from '../contract/read-model.contract.ts';
import { runsOf } from '../support/runs.ts';

/** Orders that cross the leaves and chunks of the SQLite lists, and a dense stretch. */
const order = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constantFrom(16_319, 16_320, 16_383, 16_384, 16_391, 16_392, 32_767, 32_768, 400_000));
/** Two lists, and three views of one shelf. */
const LISTS = ['a', 'b', 'shelf?a', 'shelf?b', 'shelf'] as const;
const atSec = (of: number): number => Math.floor(of / 7);

const change = fc.record({
  isEnlist: fc.oneof({ arbitrary: fc.constant(true), weight: 3 }, { arbitrary: fc.constant(false), weight: 2 }),
  order,
  list: fc.constantFrom(...LISTS),
});
const batch = fc.array(change, { minLength: 1, maxLength: 120, size: 'max' });
const range = fc.record({ fromSec: fc.option(order.map(atSec), { nil: undefined }), toSec: fc.option(order.map(atSec), { nil: undefined }) });
const question = fc.record({
  list: fc.constantFrom(...LISTS, 'c', 'shelf?c'),
  offset: fc.nat({ max: 250 }),
  limit: fc.integer({ min: 1, max: 100 }),
  before: fc.option(order),
  range,
});

type Question = typeof question extends fc.Arbitrary<infer Value> ? Value : never;

describe('lists in SQLite', () => {
  let opened: OpenedReadModel;
  let runs = 0;
  beforeAll(async () => {
    opened = await openTemporaryReadModel();
  });
  afterAll(() => opened.dispose());

  it('answer every page, total and walk as a plain sorted array does, while members come and go', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(batch, fc.array(question, { minLength: 1, maxLength: 8 })), { minLength: 1, maxLength: 6 }),
        async (rounds) => {
          const plain = new MemoryReadModel();
          const prefix = `run${(runs += 1)}@1/`;
          const compare = async ({ list, offset, limit, before, range: asked }: Question): Promise<void> => {
            const within: ListRange = {
              ...(asked.fromSec !== undefined && { fromSec: asked.fromSec }),
              ...(asked.toSec !== undefined && { toSec: asked.toSec }),
            };
            expect(await opened.model.page(prefix + list, { offset, limit, ...within })).toEqual(
              await plain.page(prefix + list, { offset, limit, ...within }),
            );
            expect(await opened.model.before(prefix + list, { before, limit, ...within })).toEqual(
              await plain.before(prefix + list, { before, limit, ...within }),
            );
          };
          const next = opened.model.next({ projection: prefix, tables: [], lists: [prefix] });
          await next.begin();
          for (const [changes, questions] of rounds) {
            const applied = changes.map(({ isEnlist, order: place, list }): Change => {
              const member = { lists: [prefix + list], member: `m${place}`, order: place };
              return isEnlist ? { op: 'enlist', ...member, atSec: atSec(place) } : { op: 'delist', ...member };
            });
            await Promise.all([plain.apply('lists', applied, '1'), opened.model.apply('lists', applied, '1'), next.apply(applied, '1')]);
            for (const asked of questions) await compare(asked);
          }
          // The same lists, built beside and written in the end.
          await next.promote();
          for (const [, questions] of rounds) for (const asked of questions) await compare(asked);
        },
      ),
      { numRuns: runsOf(150) },
    );
  });
});
