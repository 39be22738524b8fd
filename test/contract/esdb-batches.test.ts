import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openEsdbEventStore, type EsdbEventStoreOptions } from '../../src/adapters/esdb/event-store.ts';
import { EsdbClient } from '../../src/adapters/esdb/client/client.ts';
import { parseConnectionString } from '../../src/adapters/esdb/client/settings.ts';
import { StoreDenies } from '../../src/adapters/esdb/faults.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import { CertificateAuthority } from '../support/certificates.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { appendOf, FIRST, readWholeLog, until } from './event-store-samples.ts';

/* Appends of many callers share one call to the server; each has an outcome of its own. */

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(...options: Parameters<typeof EsdbDouble.start>): Promise<EsdbDouble> {
  const double = await EsdbDouble.start(...options);
  closing.push(() => double.stop());
  return double;
}

async function open(double: EsdbDouble, options: Partial<EsdbEventStoreOptions> = {}): Promise<EventStore> {
  const store = await openEsdbEventStore({
    ...{ connectionString: double.connectionString, attemptMs: 2_000, totalMs: 8_000 },
    ...options,
  });
  closing.push(() => store.close());
  return store;
}

const streamsOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `s-${index}`);
const appendAll = (store: EventStore, streams: readonly string[]) =>
  Promise.all(streams.map((stream) => store.append(appendOf(stream, FIRST))));

describe('appends of many callers (double)', () => {
  test('share one call, and each hears of its own stream', async () => {
    const double = await start();
    const [one, other] = [await open(double), await open(double)];
    await appendAll(one, ['s-3', 's-7']);
    const results = await appendAll(other, streamsOf(64));
    expect(results.filter(({ ok }) => ok)).toHaveLength(62);
    for (const taken of [3, 7]) expect(results[taken]).toEqual({ ok: false, actual: 0 });
    expect(double.batchCalls).toBe(2);
    const log = await readWholeLog(one);
    for (const [index, result] of results.entries())
      if (result.ok) expect(log.find(({ stream }) => stream === `s-${index}`)?.position).toBe(result.position);
  });

  test('of which one is never answered are stored once each, and only that one is asked again', async () => {
    const double = await start();
    const store = await open(double, { attemptMs: 400 });
    double.faults.plan('append', { kind: 'silent-after-commit' });
    expect((await appendAll(store, streamsOf(20))).every(({ ok }) => ok)).toBe(true);
    expect(double.appendCalls).toBe(21);
    expect(await readWholeLog(store)).toHaveLength(20);
  });

  test('whose call breaks in the middle are asked again by their ids', async () => {
    const double = await start();
    const store = await open(double);
    double.faults.plan('append', { kind: 'unavailable-after-commit' });
    expect((await appendAll(store, streamsOf(20))).every(({ ok }) => ok)).toBe(true);
    expect(await readWholeLog(store)).toHaveLength(20);
  });

  test.each(['busy', 'timeout-after-commit'] as const)(
    'of which one is answered with %s do not wait for it',
    async (kind) => {
      const double = await start();
      const store = await open(double);
      double.faults.plan('append', { kind }, { kind });
      expect((await appendAll(store, streamsOf(20))).every(({ ok }) => ok)).toBe(true);
      expect(double.appendCalls).toBe(22);
      expect(await readWholeLog(store)).toHaveLength(20);
    },
  );

  test('go to the leader that a node names', async () => {
    const leader = await start();
    const follower = await start({ log: leader.log });
    follower.follow(leader);
    const store = await open(follower);
    expect((await appendAll(store, streamsOf(20))).every(({ ok }) => ok)).toBe(true);
    expect(leader.appendCalls).toBe(20);
    expect(await readWholeLog(store)).toHaveLength(20);
  });

  test('leave no call open once nobody appends, nor after the store is closed', async () => {
    const double = await start();
    const store = await open(double);
    await appendAll(store, streamsOf(3));
    await until('the call is over', () => double.openBatches === 0);
    await appendAll(store, ['t-1']);
    expect([double.openBatches, double.batchCalls]).toEqual([1, 2]);
    await store.close();
    await until('the call is over', () => double.openBatches === 0);
  });

  test('that are never answered leave no call open either', async () => {
    const double = await start();
    const store = await open(double, { attemptMs: 100, totalMs: 150 });
    double.faults.plan('append', { kind: 'silent' }, { kind: 'silent' }, { kind: 'silent' });
    await expect(store.append(appendOf('s-1', FIRST))).rejects.toThrow(/no answer/);
    await until('the calls are over', () => double.openBatches === 0);
  });

  test('begin a new call each minute, since the server checks who appends at its beginning', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const double = await start();
    const client = new EsdbClient(parseConnectionString(double.connectionString));
    const append = (stream: string) =>
      client.append({ stream, expected: 'no-stream', events: [anEvent()], deadlineMs: 2_000 });
    await append('s-1');
    await append('s-2');
    expect(double.batchCalls).toBe(1);
    vi.advanceTimersByTime(61_000);
    await append('s-3');
    expect(double.batchCalls).toBe(2);
    client.close();
  });
});

const anEvent = () => ({
  id: crypto.randomUUID(),
  type: 'Sample',
  isJson: false,
  data: new Uint8Array(4),
  metadata: new Uint8Array(0),
});

const setAcl = (double: EsdbDouble, stream: string, acl: unknown): unknown =>
  double.log.append(`$$${stream}`, -1, [
    {
      ...{ id: crypto.randomUUID(), type: '$metadata', contentType: 'application/json' },
      ...{ data: Buffer.from(JSON.stringify({ $acl: acl })), customMetadata: new Uint8Array(0) },
    },
  ]);

describe('appends to a server with access control (double)', () => {
  async function secured() {
    const directory = temporaryFolder('batches');
    const authority = new CertificateAuthority();
    writeFileSync(join(directory, 'ca.crt'), authority.cert);
    const certificate = authority.issue({ name: 'node', hosts: ['localhost', '127.0.0.1'] });
    const double = await start({ secured: { adminPassword: 'secret-word', certificate } });
    const options = (host: string, login: string) => ({
      connectionString: `esdb://${login}@${host}:${double.port}?tls=true&tlsCAFile=${join(directory, 'ca.crt')}`,
    });
    return { double, options };
  }

  test('are denied each for itself, within three seconds', async () => {
    const { double, options } = await secured();
    setAcl(double, 's-1', { $w: ['$admins'] });
    setAcl(double, '$all', { $r: ['ops'] });
    const store = await open(double, options('localhost', 'ops:changeit'));
    const [denied, stored] = await Promise.allSettled(
      ['s-1', 's-2'].map((stream) => store.append(appendOf(stream, FIRST))),
    );
    expect(denied).toMatchObject({ status: 'rejected', reason: expect.any(StoreDenies) });
    expect(stored).toMatchObject({ status: 'fulfilled', value: { ok: true } });
    expect(double.batchCalls).toBeLessThan(4);
  });

  test('reach it by its address, without a warning, and not one whose certificate names another', async () => {
    const warned: string[] = [];
    const listen = (warning: Error): void => void warned.push(String(warning));
    process.on('warning', listen);
    try {
      const { double, options } = await secured();
      const store = await open(double, options('127.0.0.1', 'admin:secret-word'));
      expect(await store.append(appendOf('s-1', FIRST))).toMatchObject({ ok: true });
      await new Promise((resolve) => setImmediate(resolve));
      expect(warned).toEqual([]);
      await expect(
        openEsdbEventStore({ ...options('127.0.0.2', 'admin:secret-word'), attemptMs: 300, totalMs: 600 }),
      ).rejects.toThrow(/127\.0\.0\.2|unavailable|UNAVAILABLE/);
    } finally {
      process.off('warning', listen);
    }
  });
});
