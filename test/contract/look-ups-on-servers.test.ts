import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { sessionList } from '../../projections/sessions/session-list.ts';
import { SESSIONS_TABLE } from '../../projections/sessions/session-row.ts';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { createMemorySharedStatus } from '../../src/adapters/memory/shared-status.ts';
import { readModelFile } from '../../src/adapters/sqlite/read-model/schema.ts';
import { LookUpAgreement } from '../../src/look-ups/agreement.ts';
import { projectionsOf } from '../../src/look-ups/projections.ts';
import { SeenPositions } from '../../src/look-ups/seen-positions.ts';
import { ProjectionComparison } from '../../src/look-ups/compare.ts';
import { openProjectionThread, type ProjectionThread } from '../../src/look-ups/thread.ts';
import { coverageStream, sessionStream } from '../../src/domain/values/streams.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { encodeEvent } from '../../src/runtime/commands/codec.ts';
import { isMarked } from '../../src/runtime/projections/digest-chain.ts';
import { projectionId } from '../../src/runtime/projections/batch.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { appendHistory, ownerOf, sessionIdOf } from '../support/random-history.ts';
import { createdFacts, EXPIRES_AT } from '../support/session-facts.ts';
import { grow } from './event-store-samples.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Each process follows the log on the servers by itself and keeps its look-ups in files of its own. */

const PLENTY_MS = 30_000;
const ROLES = { api: true, worker: false, signer: false };

let double: EsdbDouble;
let folder: string;
let namespace: string;
let store: EventStore;
let sessions: number;
let faults: string[];

beforeAll(async () => void (double = await EsdbDouble.start()));
afterAll(() => double.stop());

beforeEach(async () => {
  folder = temporaryFolder('look-ups');
  sessions = 0;
  faults = [];
  store = await another();
});

/** An event log with nothing in it. */
async function another(): Promise<EventStore> {
  namespace = `${randomUUID()}.`;
  const opened = await openEsdbEventStore({ connectionString: double.connectionString, namespace });
  onTestFinished(() => opened.close());
  return opened;
}

async function node(name: string): Promise<ProjectionThread> {
  const log = { kind: 'servers', connectionString: double.connectionString, namespace } as const;
  const dataDir = join(folder, name);
  const thread = await openProjectionThread(dataDir, {
    dataDir,
    log,
    projections: projectionsOf(ROLES).map(projectionId),
  });
  await thread.start(store, { onError: (error) => faults.push((error as Error).message) });
  onTestFinished(() => end(thread));
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
  await appendHistory(store, [{ session: sessions, event: { type: 'SessionCreated', data }, atMs: 1_800_000_000_000 }]);
  sessions += 1;
}

const listed = async ({ readModel }: ProjectionThread): Promise<number> =>
  (await readModel.scan(SESSIONS_TABLE, { limit: 100 })).length;
const caughtUp = async (thread: ProjectionThread): Promise<boolean> =>
  thread.caughtUpTo((await store.head())!, PLENTY_MS);

test('two of them show the same, even what one processed while the other was down', async () => {
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
  await one.readModel.apply(
    'another',
    [{ op: 'put', table: SESSIONS_TABLE, key: sessionIdOf(0), row: { ...row, orderId: 'another' } }],
    '1',
  );
  const [differing] = await comparison.compare(id);
  expect([differing!.rows > 1, differing!.examples]).toEqual([true, [`${SESSIONS_TABLE} ${sessionIdOf(0)} differs`]]);
  await expect(comparison.compare('open-payouts')).rejects.toThrow('name must be one of session-view');
});

test('files built from another log are not served', async () => {
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
  // What another process said is not what the files were made of.
  const beyond = 'C:999999999/P:999999999';
  await again.readModel.apply('deliver-webhooks-heard', [], beyond);
  await end(again);
  const once = await node('one');
  expect(faults.length).toBe(1);
  // An index beside the projections that has more of the log than there is.
  await once.readModel.apply('session-metadata@1', [], beyond);
  await end(once);
  const last = await node('one');
  expect([await last.readModel.checkpoint('session-metadata@1'), faults.slice(1)]).toEqual([
    null,
    [expect.stringContaining('of more of the event log')],
  ]);
});

test('what one of them has returned, another one shows, or says that it does not yet', async () => {
  const [one, other] = [await node('one'), await node('other')];
  const [mine, theirs] = [one, other].map(
    (thread) => new SeenPositions({ follows: thread.follows, readModel: thread.readModel, projections: thread, store }),
  );
  expect(await mine!.reported()).toBeNull();
  const plain = store;
  store = mine!.observe(plain);
  await grow(store, coverageStream('test', 'bsc'), 1);
  expect([mine!.written, await mine!.reported()]).toEqual([null, null]);
  await order();
  const told = (await mine!.reported())!;
  expect([mine!.written, told]).toEqual([told, await plain.head()]);
  await grow(store, coverageStream('test', 'bsc'), 1);
  expect(await mine!.reported()).toBe(told);
  expect(await theirs!.shownUpTo(told)).toBe('shown');
  expect([await listed(other), await theirs!.reported()]).toEqual([1, told]);
  // Read by a node that did not write it, before its look-ups show it.
  const reading = theirs!.observe(plain);
  await end(other);
  await order();
  await reading.readStream(`session-${sessionIdOf(1)}`);
  expect(await mine!.reported()).toBe(
    await plain.lastOfStream(`session-${sessionIdOf(1)}`).then((event) => event!.position),
  );
  const again = await node('other');
  const late = new SeenPositions({
    follows: again.follows,
    store: plain,
    readModel: { checkpoint: async () => told },
    projections: { caughtUpTo: async () => false },
  });
  expect(await late.shownUpTo((await mine!.reported())!)).toBe('behind');
  expect(await late.shownUpTo(told)).toBe('shown');
  expect(await late.shownUpTo('C:999999999/P:999999999')).toBe('shown');
  for (const malformed of ['', '7', 'C:1', 'C:1/P:x']) expect(await late.shownUpTo(malformed)).toBe('malformed');
});

/** Of a session that was never paid; drawn until it is one of those at which all nodes mark their digests. */
async function expireAtMark(session: number): Promise<void> {
  const stream = sessionStream(sessionIdOf(session));
  const last = (await store.lastOfStream(stream))!;
  const data = { expiredAtSec: EXPIRES_AT, coin: 'USDT', received: '0.00', scannedToSec: {} } as const;
  const metadata = { correlationId: 'test', actor: 'test', prev: last.hash };
  const place = { stream, revision: last.revision + 1, atMs: EXPIRES_AT * 1_000, metadata };
  const drawn = () => encodeEvent({ id: randomUUID(), ...place, event: { type: 'SessionExpired', data } });
  let event = drawn();
  while (!isMarked(event)) event = drawn();
  await store.append({ stream, expected: last.revision, events: [event] });
}

test('of two nodes, the one whose file somebody changed stops serving and is ready again once rebuilt', async () => {
  const sharedStatus = createMemorySharedStatus();
  const agreementOf = (thread: ProjectionThread): LookUpAgreement =>
    new LookUpAgreement({
      ...{ follows: thread.follows, sharedStatus, readModel: thread.readModel, log: createLogger('silent') },
      comparison: new ProjectionComparison(thread.follows),
    });
  const [one, other] = [await node('one'), await node('other')];
  await order();
  await order();
  await caughtUp(one);
  await caughtUp(other);
  await end(other);
  const file = new DatabaseSync(readModelFile(join(folder, 'other')));
  const { id } = file.prepare('SELECT id FROM row_tables WHERE name = ?').get(SESSIONS_TABLE) as { id: number };
  const changed = file
    .prepare(`UPDATE rows_${id} SET row = json_set(row, '$.taxAmount', '7.77') WHERE key = ?`)
    .run(sessionIdOf(0));
  expect(changed.changes).toBe(1);
  file.close();
  const again = await node('other');
  const [right, wrong] = [agreementOf(one), agreementOf(again)];
  const rounds = async (): Promise<void> => {
    await caughtUp(one);
    await caughtUp(again);
    for (const agreement of [right, wrong, right, wrong]) await agreement.round();
  };
  await expireAtMark(1);
  await rounds();
  // Nobody has read the row yet.
  expect([right.differing(), wrong.differing()]).toEqual([[], []]);
  await expireAtMark(0);
  await rounds();
  const sessionView = projectionsOf(ROLES).map(projectionId)[0]!;
  expect([right.differing(), wrong.differing()]).toEqual([[sessionView], [sessionView]]);
  expect([right.health().state, wrong.health()]).toMatchObject([
    'degraded',
    { state: 'down', detail: expect.stringContaining(sessionView) },
  ]);
  await again.rebuild([sessionView]);
  await again.ready();
  await rounds();
  expect([right.health().state, wrong.health().state]).toEqual(['ok', 'ok']);
  await sharedStatus.close();
});
