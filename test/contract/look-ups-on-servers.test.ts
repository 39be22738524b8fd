import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { sessionList } from '../../projections/sessions/session-list.ts';
import { SESSIONS_TABLE } from '../../projections/sessions/session-row.ts';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { projectionsOf } from '../../src/composition/projections.ts';
import { SeenPositions } from '../../src/composition/seen-positions.ts';
import { ProjectionComparison } from '../../src/composition/workers/projection-compare.ts';
import { openProjectionThread, type ProjectionThread } from '../../src/composition/workers/projection-thread.ts';
import { coverageStream } from '../../src/domain/streams.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { projectionId } from '../../src/runtime/projections/batch.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { appendLedger, ownerOf, sessionIdOf } from '../support/random-ledger.ts';
import { createdFacts } from '../support/session-facts.ts';
import { grow } from './event-store-samples.ts';

/* Each process follows the log on the servers by itself and keeps its look-ups in files of its own. */

const PLENTY_MS = 30_000;
const ROLES = { api: true, worker: false, signer: false };

let double: EsdbDouble;
let folder: string;
let namespace: string;
let store: EventStore;
let sessions: number;
let faults: string[];
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => void (double = await EsdbDouble.start()));
afterAll(() => double.stop());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-look-ups-'));
  sessions = 0;
  faults = [];
  store = await another();
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** An event log with nothing in it. */
async function another(): Promise<EventStore> {
  namespace = `${randomUUID()}.`;
  const opened = await openEsdbEventStore({ connectionString: double.connectionString, namespace });
  closing.push(() => opened.close());
  return opened;
}

async function node(name: string): Promise<ProjectionThread> {
  const log = { kind: 'servers', connectionString: double.connectionString, namespace } as const;
  const dataDir = join(folder, name);
  const thread = await openProjectionThread(dataDir, { dataDir, log, projections: projectionsOf(ROLES).map(projectionId) });
  await thread.start(store, { onError: (error) => faults.push((error as Error).message) });
  closing.push(() => end(thread));
  return thread;
}

const ended = new Set<ProjectionThread>();
async function end(thread: ProjectionThread): Promise<void> {
  if (ended.has(thread)) return;
  ended.add(thread);
  await thread.stop();
  await thread.readModel.close();
}

async function order(): Promise<void> {
  const data = createdFacts({ sessionId: sessionIdOf(sessions), orderId: `order-${sessions}` });
  await appendLedger(store, [{ session: sessions, event: { type: 'SessionCreated', data }, atMs: 1_800_000_000_000 }]);
  sessions += 1;
}

const listed = async ({ readModel }: ProjectionThread): Promise<number> => (await readModel.scan(SESSIONS_TABLE, { limit: 100 })).length;
const caughtUp = async (thread: ProjectionThread): Promise<boolean> => thread.caughtUpTo((await store.head())!, PLENTY_MS);

test('two of them show the same, also what the other one went on with while one was away', async () => {
  const [one, other] = [await node('one'), await node('other')];
  await order();
  await grow(store, coverageStream('test', 'ethereum'), 3);
  expect([await caughtUp(one), await caughtUp(other)]).toEqual([true, true]);
  expect([await listed(one), await listed(other)]).toEqual([1, 1]);
  await end(other);
  await order();
  const again = await node('other');
  expect(await caughtUp(again)).toBe(true);
  const { mode, merchantId } = ownerOf(0);
  const page = { offset: 0, limit: 10 };
  expect(await caughtUp(one)).toBe(true);
  const list = sessionList(mode, merchantId, {});
  expect(await again.readModel.page(list, page)).toEqual(await one.readModel.page(list, page));
  expect(await listed(again)).toBe(2);
});

test('a replay of the log on the servers finds what is not as it says', async () => {
  const one = await node('one');
  await order();
  await order();
  await caughtUp(one);
  const comparison = new ProjectionComparison(one.follows);
  expect((await comparison.compare()).map(({ differing }) => differing)).toEqual(projectionsOf(ROLES).map(() => 0));
  expect(comparison.isWhole()).toBe(true);
  const id = 'session-view';
  const row = (await one.readModel.get(SESSIONS_TABLE, sessionIdOf(0)))!;
  await one.readModel.apply('another', [{ op: 'put', table: SESSIONS_TABLE, key: sessionIdOf(0), row: { ...row, orderId: 'another' } }], '1');
  const [differing] = await comparison.compare(id);
  expect([differing!.rows > 1, differing!.examples]).toEqual([true, [`${SESSIONS_TABLE} ${sessionIdOf(0)} differs`]]);
  await expect(comparison.compare('open-payouts')).rejects.toThrow('name must be one of session-view');
});

test('files that were made of another log are not served', async () => {
  const one = await node('one');
  await order();
  await order();
  await caughtUp(one);
  await end(one);
  store = await another();
  sessions = 0;
  const empty = await node('one');
  await empty.ready();
  expect([await listed(empty), faults]).toEqual([0, [expect.stringContaining('were made of another event log')]]);
  await order();
  expect(await caughtUp(empty)).toBe(true);
  await expect.poll(() => existsSync(join(folder, 'one', 'read-model.log'))).toBe(true);
  await end(empty);
  // Of this log now, which it goes on with.
  const again = await node('one');
  expect([await listed(again), faults.length]).toEqual([1, 1]);
  expect(await caughtUp(again)).toBe(true);
});

test('what one of them told, another one shows, or says that it does not yet', async () => {
  const [one, other] = [await node('one'), await node('other')];
  const [mine, theirs] = [one, other].map(
    (thread) => new SeenPositions({ follows: thread.follows, readModel: thread.readModel, projections: thread, store }),
  );
  expect(await mine!.told()).toBeNull();
  const plain = store;
  store = mine!.observe(plain);
  await grow(store, coverageStream('test', 'bsc'), 1);
  expect([mine!.written, await mine!.told()]).toEqual([null, null]);
  await order();
  const told = (await mine!.told())!;
  expect([mine!.written, told]).toEqual([told, await plain.head()]);
  await grow(store, coverageStream('test', 'bsc'), 1);
  expect(await mine!.told()).toBe(told);
  expect(await theirs!.shownUpTo(told)).toBe('shown');
  expect([await listed(other), await theirs!.told()]).toEqual([1, told]);
  // Read by a node that did not write it, before its look-ups show it.
  const reading = theirs!.observe(plain);
  await end(other);
  await order();
  await reading.readStream(`session-${sessionIdOf(1)}`);
  expect(await mine!.told()).toBe(await plain.lastOfStream(`session-${sessionIdOf(1)}`).then((event) => event!.position));
  const again = await node('other');
  const late = new SeenPositions({
    follows: again.follows,
    store: plain,
    readModel: { checkpoint: async () => told },
    projections: { caughtUpTo: async () => false },
  });
  expect(await late.shownUpTo((await mine!.told())!)).toBe('behind');
  expect(await late.shownUpTo(told)).toBe('shown');
  expect(await late.shownUpTo('C:999999999/P:999999999')).toBe('shown');
  for (const malformed of ['', '7', 'C:1', 'C:1/P:x']) expect(await late.shownUpTo(malformed)).toBe('malformed');
});
