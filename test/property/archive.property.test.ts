import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { compareProjection, ReadModelSnapshot } from '../../src/adapters/sqlite/read-model/compare.ts';
import { openWithWriter } from '../../src/adapters/sqlite/read-model/read-model.ts';
import { PROJECTIONS } from '../../src/look-ups/projections.ts';
import type { TimeOfRow } from '../../src/ports/read-model/projection.ts';
import { putRow, type Change, type ReadModel } from '../../src/ports/read-model/read-model.ts';
import { decodeData } from '../../src/runtime/commands/codec.ts';
import { ownedRows } from '../../src/runtime/projections/batch.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { archivedIn, pointersIn } from '../contract/archived-rows.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { appendHistory, historyOf, steps } from '../support/random-history.ts';
import { runsOf } from '../support/runs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Opened = ReturnType<typeof openWithWriter>;

const RUNS = 12;
/** Each run opens databases. */
const TIMEOUT_MS = 120_000;
const NEVER_SEC = 9_000_000_000;
let root: string;
let opened = 0;

beforeAll(() => void (root = temporaryFolder('archive')));

const newDataDir = (): string => join(root, String((opened += 1)));

function archive({ writer }: Opened, table: string, timeOf: TimeOfRow, beforeSec: number): void {
  for (let after: number | null = 0; after !== null; after = writer.archive(table, timeOf, beforeSec, after));
}

interface ToyRow {
  readonly key: string;
  readonly sec: number;
  readonly isOpen: boolean;
  readonly text: string;
}

const TABLE = 'toys@1';
const LIST = 'toys@1/all';
const MONTH_SEC = 2_600_000;
const timeOfToy: TimeOfRow = (row) => {
  const { sec, isOpen } = row as ToyRow;
  return { beganSec: sec, endedSec: isOpen ? null : sec };
};

const key = fc.integer({ min: 0, max: 30 });
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('put' as const), key, isOpen: fc.boolean(), text: fc.string() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('archive' as const), before: key }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('sweep' as const, 'reopen' as const, 'clear' as const, 'anew' as const),
    }),
  },
);

async function everyAnswer(model: ReadModel): Promise<unknown> {
  const keys = Array.from({ length: 32 }, (_, index) => String(index).padStart(2, '0'));
  const { members } = await model.page(LIST, { offset: 0, limit: 100 });
  return {
    many: await model.getMany(TABLE, keys),
    one: await model.get(TABLE, '07'),
    peeked: model.peek('toys@1', TABLE, '03').row,
    scanned: await model.scan(TABLE, { limit: 100 }),
    from: await model.scan(TABLE, { afterKey: '10', limit: 5 }),
    listed: await model.getMany(
      TABLE,
      members.map(({ member }) => member),
    ),
    page: await model.page(LIST, { offset: 2, limit: 5, fromSec: 3 * MONTH_SEC, toSec: 20 * MONTH_SEC }),
    before: await model.before(LIST, { before: 20, limit: 5 }),
  };
}

it(
  'rows read the same wherever they are, and rows that came back leave nothing behind',
  { timeout: TIMEOUT_MS },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }), async (taken) => {
        const dataDir = newDataDir();
        const plain = new MemoryReadModel();
        let live = openWithWriter(dataDir);
        const owned = { projection: 'toys@1', tables: [TABLE], lists: ['toys@1/'] };
        const applied = async (changes: Change[]): Promise<void> => {
          await plain.apply('toys@1', changes, '1');
          await live.model.apply('toys@1', changes, '1');
        };
        for (const one of taken) {
          if (one.do === 'put') {
            const [name, sec] = [String(one.key).padStart(2, '0'), one.key * MONTH_SEC];
            await applied([
              putRow(TABLE, name, { key: name, sec, isOpen: one.isOpen, text: one.text }),
              { op: 'enlist', lists: [LIST], member: name, order: one.key, atSec: sec },
            ]);
          } else if (one.do === 'delete') {
            const name = String(one.key).padStart(2, '0');
            await applied([
              { op: 'delist', lists: [LIST], member: name, order: one.key },
              { op: 'delete', table: TABLE, key: name },
            ]);
          } else if (one.do === 'archive') archive(live, TABLE, timeOfToy, one.before * MONTH_SEC);
          else if (one.do === 'sweep') live.writer.sweep();
          else if (one.do === 'clear') await Promise.all([plain.clear(owned), live.model.clear(owned)]);
          else if (one.do === 'anew') {
            const rows = await plain.scan<ToyRow>(TABLE, { limit: 100 });
            const next = live.model.next(owned);
            await next.begin();
            const anew = rows.map(({ key: name, row }) => putRow(TABLE, name, row));
            const listed = (await plain.before(LIST, { before: null, limit: 100 })).map(
              ({ member, order }): Change => ({ op: 'enlist', lists: [LIST], member, order, atSec: order * MONTH_SEC }),
            );
            await next.apply([...anew, ...listed], '1');
            await next.promote();
          } else {
            await live.model.close();
            live = openWithWriter(dataDir);
          }
          expect(await everyAnswer(live.model)).toEqual(await everyAnswer(plain));
        }
        while (live.writer.sweep());
        expect(archivedIn(dataDir)).toBe(pointersIn(dataDir));
        await live.model.close();
      }),
      { numRuns: runsOf(RUNS) },
    );
  },
);

it(
  'projections produce the same rows and lists, whatever was archived meanwhile',
  { timeout: TIMEOUT_MS },
  async () => {
    let seen = 0;
    await fc.assert(
      fc.asyncProperty(steps.map(historyOf), fc.integer({ min: 1, max: 12 }), async ({ entries }, cut) => {
        const store = new MemoryEventStore();
        const [plainDir, liveDir] = [newDataDir(), newDataDir()];
        const [plain, live] = [openWithWriter(plainDir), openWithWriter(liveDir)];
        const runners = [plain, live].map(
          ({ model }) =>
            new ProjectionRunner({
              store,
              readModel: model,
              projections: PROJECTIONS,
              clock: { nowMs: () => 0 },
              cacheRows: 2,
              decode: decodeData,
            }),
        );
        for (const runner of runners) await runner.start();
        for (let from = 0; from < entries.length; from += cut) {
          await appendHistory(store, entries.slice(from, from + cut));
          for (const runner of runners) expect(await runner.caughtUpTo((await store.head())!, TIMEOUT_MS)).toBe(true);
          for (const { archived: times = {} } of PROJECTIONS)
            for (const [table, timeOf] of Object.entries(times)) archive(live, table, timeOf, NEVER_SEC);
        }
        for (const runner of runners) {
          await runner.ready();
          await runner.stop();
        }
        seen += pointersIn(liveDir);
        const [one, other] = [new ReadModelSnapshot(plainDir), new ReadModelSnapshot(liveDir)];
        for (const projection of PROJECTIONS)
          expect(compareProjection(ownedRows(projection), one, other)).toMatchObject({ differing: 0 });
        one.close();
        other.close();
        await Promise.all([plain.model.close(), live.model.close(), store.close()]);
      }),
      { numRuns: runsOf(RUNS) },
    );
    expect(seen).toBeGreaterThan(0);
  },
);
