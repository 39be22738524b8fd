import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { openRedisLeases } from '../../src/adapters/redis/leases.ts';
import { openRedisReadModel } from '../../src/adapters/redis/read-model.ts';
import { SharedProjections } from '../../src/composition/shared-projections.ts';
import { coverageStream } from '../../src/domain/streams.ts';
import { silentLog } from '../../src/ports/log.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import type { Logger } from '../../src/observability/logger.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { RedisServer } from '../support/redis-server.ts';
import { createdFacts } from '../support/session-facts.ts';
import { appendLedger, sessionIdOf } from '../support/random-ledger.ts';
import { grow } from './event-store-samples.ts';

/* The look-ups as a process sees them that does not fill them: are they as far as the ledger is? */

const LATE_MS = 300;
const PLENTY_MS = 30_000;

let server: RedisServer;
let double: EsdbDouble;
let store: EventStore;
let runs: SharedProjections;
let watches: SharedProjections;
let sessions = 0;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  [server, double] = await Promise.all([RedisServer.start(), EsdbDouble.start()]);
});
afterAll(() => Promise.all([server.stop(), double.stop()]));

beforeEach(async () => {
  store = await openEsdbEventStore({ connectionString: double.connectionString, namespace: `${randomUUID()}.` });
  closing.push(() => store.close());
  const redis = { url: server.url, prefix: randomUUID() };
  runs = await shared(redis, true);
  watches = await shared(redis, false);
  await runs.start(store);
  await watches.start(store);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function shared(redis: { readonly url: string; readonly prefix: string }, isRunner: boolean): Promise<SharedProjections> {
  const [projectedModel, readModel, leases] = await Promise.all([openRedisReadModel(redis), openRedisReadModel(redis), openRedisLeases(redis)]);
  const log = silentLog as Logger;
  const projections = new SharedProjections({ store, projectedModel, readModel, leases, ttlMs: 8_000, clock: systemClock, log, runs: isRunner });
  closing.push(async () => {
    await projections.stop();
    await Promise.all([projectedModel.close(), readModel.close(), leases.close()]);
  });
  return projections;
}

async function order(): Promise<void> {
  sessions += 1;
  const data = createdFacts({ sessionId: sessionIdOf(sessions), orderId: `order-${sessions}` });
  await appendLedger(store, [{ session: sessions, event: { type: 'SessionCreated', data }, atMs: 1_800_000_000_000 }]);
}

/** Nothing that any projection shows. */
const cover = async (): Promise<unknown> => grow(store, coverageStream('test', 'ethereum'), 3);
const isThere = async (timeoutMs = PLENTY_MS): Promise<boolean> => watches.caughtUpTo((await store.head())!, timeoutMs);

test('they are when the ledger ends with events that no look-up shows, and stay so with more of them', async () => {
  await order();
  await cover();
  expect(await isThere()).toBe(true);
  await grow(store, coverageStream('test', 'bsc'), 300);
  expect(await isThere()).toBe(true);
});

test('they are when no look-up shows anything of the ledger', async () => {
  await cover();
  expect(await isThere()).toBe(true);
});

test('they are not while an order is missing, whatever comes after it', async () => {
  await order();
  expect(await isThere()).toBe(true);
  await runs.stop();
  await order();
  await cover();
  expect(await isThere(LATE_MS)).toBe(false);
  await grow(store, coverageStream('test', 'bsc'), 1);
  expect(await isThere(LATE_MS)).toBe(false);
});

test('they are not after a loss, although it was known that nothing was owed', async () => {
  await order();
  await cover();
  expect(await isThere()).toBe(true);
  await runs.stop();
  const control = new Redis(server.url);
  await control.flushall();
  control.disconnect();
  expect(await isThere(LATE_MS)).toBe(false);
});
