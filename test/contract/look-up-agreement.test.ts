import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMemorySharedStatus } from '../../src/adapters/memory/shared-status.ts';
import { LookUpAgreement } from '../../src/look-ups/agreement.ts';
import { createLogger } from '../../src/observability/logger.ts';
import type { Projection } from '../../src/ports/read-model/projection.ts';
import { chainTable } from '../../src/runtime/projections/batch.ts';
import { CHAIN_KEY, marksOf } from '../../src/runtime/projections/digest-chain.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { grow } from './event-store-samples.ts';
import type { Table } from '../../src/ports/read-model/read-model.ts';

/* Nodes make look-ups of the same log, whatever batches it comes in, and tell each other at which digests they were. */

/** One in 64 is marked, by chance: with 1,500 of them, fewer than three marks are one run in thirty million. */
const EVENTS = 1_500;
const TABLE: Table<{ n: number }> = 'counted@1';
const counted = (step: number): Projection => ({
  ...{ name: 'counted', version: 1, streamPrefixes: ['s-'], tables: [TABLE], lists: [] },
  needs: ({ stream }) => [{ table: TABLE, key: stream }],
  apply: ({ stream }, read) => [
    { op: 'put', table: TABLE, key: stream, row: { n: (read(TABLE, stream)?.n ?? 0) + step } },
  ],
});

const sharedStatus = createMemorySharedStatus();
let store: MemoryEventStore;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(() => void (store = new MemoryEventStore()));
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await sharedStatus.close();
});

/** `differing`: what a replay finds in its rows. */
async function node(
  name: string,
  { maxBatch = 7, step = 1, differing = 0, readModel = new MemoryReadModel(), told = sharedStatus } = {},
) {
  const compared: string[] = [];
  const runner = new ProjectionRunner({
    store,
    readModel,
    projections: [counted(step)],
    clock: { nowMs: () => 0 },
    maxBatch,
    isChained: true,
  });
  await runner.start();
  closing.push(() => runner.stop());
  const comparison = {
    compare: async (projection = '') => {
      compared.push(projection);
      return [{ projection, through: '1', rows: 9, differing, digest: '', replayed: '', examples: [] }];
    },
  };
  const agreement = new LookUpAgreement({
    follows: { dataDir: name, log: { kind: 'files' }, projections: ['counted@1'] },
    sharedStatus: told,
    readModel,
    comparison,
    log: createLogger('silent'),
  });
  const caughtUp = async (): Promise<void> => {
    await runner.caughtUpTo((await store.head())!, 20_000);
    await agreement.round();
  };
  return { agreement, compared, readModel, runner, caughtUp, told };
}

const marks = async (readModel: MemoryReadModel) => marksOf(await readModel.get(chainTable('counted@1'), CHAIN_KEY));

test('two nodes that derived the same from the log have the same digests, whatever their batches, restarts and rebuilds', async () => {
  const [one, other] = [await node('one', { maxBatch: 3 }), await node('other', { maxBatch: 100 })];
  await grow(store, 's-1', EVENTS);
  await one.caughtUp();
  await other.caughtUp();
  expect((await marks(one.readModel)).length).toBeGreaterThan(2);
  expect(await marks(one.readModel)).toEqual(await marks(other.readModel));
  await one.runner.stop();
  const again = await node('one', { maxBatch: 11, readModel: one.readModel });
  await other.runner.rebuild(['counted']);
  await grow(store, 's-2', EVENTS);
  await other.runner.ready();
  await again.caughtUp();
  await other.caughtUp();
  expect(await marks(again.readModel)).toEqual(await marks(other.readModel));
  expect([again.agreement.health(), other.agreement.differing()]).toEqual([
    { name: 'look-ups-agree', state: 'ok' },
    [],
  ]);
});

test('of two nodes that differ, the one that a replay contradicts stops serving until it is rebuilt', async () => {
  const right = await node('right');
  const wrong = await node('wrong', { step: 2, differing: 4 });
  await grow(store, 's-1', EVENTS);
  await wrong.caughtUp();
  await right.caughtUp();
  await wrong.caughtUp();
  expect([right.agreement.differing(), right.compared, right.agreement.health().state]).toEqual([
    ['counted@1'],
    ['counted@1'],
    'degraded',
  ]);
  expect([wrong.agreement.health().state, wrong.compared]).toEqual(['down', ['counted@1']]);
  // Asked once: the replay of a large log takes long.
  await wrong.caughtUp();
  expect(wrong.compared).toEqual(['counted@1']);
  // That nobody is left to differ from mends nothing.
  const alone = await node('alone', { step: 2, differing: 4, told: createMemorySharedStatus() });
  const others = sharedStatus.readAll('look-ups/');
  for (const [about, marks] of others) alone.told.publish(about, 0, marks);
  await alone.caughtUp();
  for (const about of others.keys()) alone.told.publish(about, 0, {});
  await alone.agreement.round();
  expect([alone.agreement.health().state, alone.compared]).toEqual(['down', ['counted@1']]);
  await wrong.runner.stop();
  const mended = await node('wrong', { readModel: new MemoryReadModel() });
  await mended.caughtUp();
  await right.caughtUp();
  expect([right.agreement.health().state, mended.agreement.health().state]).toEqual(['ok', 'ok']);
});

test('rows from before digests were kept do not count', async () => {
  const readModel = new MemoryReadModel();
  await grow(store, 's-1', 200);
  const unchained = new ProjectionRunner({ store, readModel, projections: [counted(1)], clock: { nowMs: () => 0 } });
  await unchained.start();
  await unchained.ready();
  await unchained.stop();
  const old = await node('old', { readModel });
  await grow(store, 's-2', EVENTS);
  await old.caughtUp();
  expect(await marks(readModel)).toEqual([]);
});
