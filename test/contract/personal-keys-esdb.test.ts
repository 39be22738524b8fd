import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { openEsdbPersonalKeys } from '../../src/adapters/esdb/personal-keys.ts';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { TARGET } from '../support/esdb-double/esdb-target.ts';
import { appendOf, FIRST, until } from './event-store-samples.ts';
import { personalKeysContract } from './personal-keys.contract.ts';

const double = process.env['EVENTSTORE_URL'] ? null : await EsdbDouble.start();
const connectionString = process.env['EVENTSTORE_URL'] ?? double!.connectionString;
afterAll(() => double?.stop());

personalKeysContract(`EventStoreDB (${TARGET})`, async () => {
  const namespace = `k${randomUUID()}:`;
  const open = () => openEsdbPersonalKeys({ connectionString, namespace, random: nodeRandom });
  let keys = open();
  return {
    keys,
    commit: () => Promise.reject(new Error('these keys give no coCommit')),
    restart: async () => {
      await keys.close();
      return (keys = open());
    },
    dispose: () => keys.close(),
  };
});

test('two nodes that create a salt for one subject get the same one', async () => {
  const namespace = `k${randomUUID()}:`;
  const [one, other] = [0, 1].map(() => openEsdbPersonalKeys({ connectionString, namespace, random: nodeRandom }));
  const made = await Promise.all([one!.create('session-a'), other!.create('session-a')]);
  expect(made[0]!.salt).toEqual(made[1]!.salt);
  expect(await other!.get('session-a')).toEqual(made[0]!.salt);
  await Promise.all([one!.close(), other!.close()]);
});

test('an erased subject is given no other salt, from wherever it comes', async () => {
  const keys = openEsdbPersonalKeys({ connectionString, namespace: `k${randomUUID()}:`, random: nodeRandom });
  await keys.create('session-a');
  await keys.erase('session-a');
  expect(await keys.create('session-a')).toBeNull();
  await expect(keys.adopt('session-a', nodeRandom.bytes(32))).rejects.toThrow(
    'the personal data of session-a was erased there',
  );
  expect(await keys.get('session-a')).toBeNull();
  await keys.erase('session-a');
  await keys.close();
});

test('salts appear in no read of the event log and in no subscription to it, with and without a namespace', async () => {
  const fresh = await EsdbDouble.start();
  for (const namespace of ['', 'shop:']) {
    const store = await openEsdbEventStore({ connectionString: fresh.connectionString, namespace });
    const keys = openEsdbPersonalKeys({ connectionString: fresh.connectionString, namespace, random: nodeRandom });
    await keys.create('session-a');
    await store.append(appendOf('s-1', FIRST, 1));
    await keys.create('session-b');
    const told: string[] = [];
    await new Promise<void>((resolve) =>
      store.subscribe({
        name: 'all',
        after: null,
        onEvents: (events) => void told.push(...events.map(({ stream }) => stream)),
        onCaughtUp: resolve,
      }),
    );
    expect(told).toEqual(['s-1']);
    expect((await store.readAll({ after: null, limit: 10 })).map(({ stream }) => stream)).toEqual(['s-1']);
    expect(await store.head()).toBe((await store.lastOfStream('s-1'))!.position);
    await store.close();
    await keys.close();
    if (namespace === '') continue;
    await fresh.stop();
  }
});

test('a salt created elsewhere is taken over once, and never replaces another', async () => {
  const keys = openEsdbPersonalKeys({ connectionString, namespace: `k${randomUUID()}:`, random: nodeRandom });
  const salt = nodeRandom.bytes(32);
  await keys.adopt('session-a', salt);
  await keys.adopt('session-a', salt);
  expect(Buffer.from((await keys.get('session-a'))!).equals(salt)).toBe(true);
  await expect(keys.adopt('session-a', nodeRandom.bytes(32))).rejects.toThrow(
    'the personal data of session-a has another key there',
  );
  expect(Buffer.from((await keys.get('session-a'))!).equals(salt)).toBe(true);
  await keys.close();
});

describe('a personal key on EventStoreDB (double)', () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function openFresh() {
    const fresh = await EsdbDouble.start();
    closing.push(() => fresh.stop());
    const keys = openEsdbPersonalKeys({
      connectionString: fresh.connectionString,
      random: nodeRandom,
      attemptMs: 250,
      totalMs: 4_000,
    });
    closing.push(() => keys.close());
    return { fresh, keys };
  }

  test('counts as created even if the first response was lost', async () => {
    const { fresh, keys } = await openFresh();
    fresh.faults.plan('append', { kind: 'silent-after-commit' });
    const made = await keys.create('session-a');
    expect(await keys.get('session-a')).toEqual(made!.salt);
  });

  test('is not taken for erased because its reading was cut off by closing', async () => {
    const { fresh, keys } = await openFresh();
    await keys.create('session-a');
    fresh.faults.plan('read', { kind: 'silent' });
    const asked = keys.get('session-a').catch((error: unknown) => error);
    await until('it was asked', () => fresh.faults.left === 0);
    await keys.close();
    expect(await asked).toBeInstanceOf(StoreUnavailable);
  });
});
