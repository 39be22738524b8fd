import fc from 'fast-check';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Change, ListRange } from '../../src/ports/read-model/read-model.ts';
import { ListReader } from '../../src/adapters/sqlite/read-model/list-reader.ts';
import { ListWriter, type ListLimits } from '../../src/adapters/sqlite/read-model/list-writer.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { openTemporaryReadModel } from '../support/sqlite-read-model.ts';
import type { OpenedReadModel } from '../contract/read-model.contract.ts';
import { runsOf } from '../support/runs.ts';

/** Orders that cross the leaves and chunks of the SQLite lists, and a dense stretch. */
const order = fc.oneof(
  fc.integer({ min: 0, max: 200 }),
  fc.constantFrom(16_319, 16_320, 16_383, 16_384, 16_391, 16_392, 32_767, 32_768, 400_000),
);
/** Two lists, and three views of one ordinalList. */
const LISTS = ['a', 'b', 'ordinalList?a', 'ordinalList?b', 'ordinalList'] as const;
const atSec = (of: number): number => Math.floor(of / 7);

const change = fc.record({
  isEnlist: fc.oneof({ arbitrary: fc.constant(true), weight: 3 }, { arbitrary: fc.constant(false), weight: 2 }),
  order,
  list: fc.constantFrom(...LISTS),
});
const batch = fc.array(change, { minLength: 1, maxLength: 120, size: 'max' });
const range = fc.record({
  fromSec: fc.option(order.map(atSec), { nil: undefined }),
  toSec: fc.option(order.map(atSec), { nil: undefined }),
});
const question = fc.record({
  list: fc.constantFrom(...LISTS, 'c', 'ordinalList?c'),
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

  it('return every page, total and walk like a plain sorted array, while members come and go', async () => {
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
            await Promise.all([
              plain.apply('lists', applied, '1'),
              opened.model.apply('lists', applied, '1'),
              next.apply(applied, '1'),
            ]);
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

/**
 * Nearly nothing, so that lists, leaves and chunks come and go, and lists are found by what memory knows of them, and
 * then no more.
 */
const SCARCE: ListLimits = { lists: 2, names: 1, leaves: 2, chunks: 1, known: 25 };

describe('lists for which memory is short', () => {
  it.each([true, false])('are as a plain sorted array, held: %s', async (areHeld) => {
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 8 }), async (batches) => {
        const db = new DatabaseSync(':memory:');
        db.exec('CREATE TABLE list_sets (id INTEGER PRIMARY KEY AUTOINCREMENT, prefix TEXT NOT NULL UNIQUE)');
        const writer = new ListWriter(db, { mark: '', areHeld, limits: SCARCE });
        const plain = new MemoryReadModel();
        for (const changes of batches) {
          for (const { isEnlist, order: place, list } of changes) {
            const lists = isEnlist ? [`s/${list}`, 's/ordinalList?all'] : [`s/${list}`];
            const member = { lists, member: `m${place}`, order: place };
            await plain.apply(
              'lists',
              [isEnlist ? { op: 'enlist', ...member, atSec: atSec(place) } : { op: 'delist', ...member }],
              '1',
            );
            if (isEnlist) writer.enlist(lists, member.member, place, atSec(place), 0);
            else writer.delist(lists[0]!, member.member, place);
          }
          writer.flush();
        }
        writer.settle(['s/']);
        const reader = new ListReader(db);
        for (const list of [...LISTS, 'ordinalList?all', 'none'])
          expect(reader.page(`s/${list}`, 0, 1_000, {})).toEqual(
            await plain.page(`s/${list}`, { offset: 0, limit: 1_000 }),
          );
        db.close();
      }),
      { numRuns: runsOf(40) },
    );
  });
});
