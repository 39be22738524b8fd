import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openSqliteEventStoreReader } from '../../src/adapters/sqlite/event-log/event-store-reader.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { StreamNamesFile } from '../../src/adapters/sqlite/event-log/stream-names-file.ts';
import { type AppendResult, type RecordedEvent, StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { eventStoreContract } from './event-store.contract.ts';
import {
  afterAppend,
  appendOf,
  FIRST,
  grow,
  idsOf,
  type Place,
  readWholeLog,
  sampleEvent,
  until,
} from './event-store-samples.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { SEAL_KEYS } from '../support/test-keys.ts';

eventStoreContract('the embedded store', async () => {
  const dataDir = temporaryFolder('store');
  const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  return {
    store,
    dispose: () => store.close(),
  };
});

describe('the embedded store', () => {
  let dataDir: string;
  let store: SqliteEventStore;

  beforeEach(async () => {
    dataDir = temporaryFolder('store');
    store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  });
  afterEach(() => store.close());

  async function reopen(): Promise<void> {
    await store.close();
    store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  }

  test('continues where it was after a restart', async () => {
    await grow(store, 's-1', 3);
    const before = await readWholeLog(store);
    await reopen();
    await grow(store, 's-1', 2);
    await grow(store, 's-2', 1);
    const log = await readWholeLog(store);
    expect(log.slice(0, 3)).toEqual(before);
    expect(log.map(({ position }) => position)).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(store.verifyTail(6)).toEqual({ ok: true, checked: 6 });
  });

  test('returns the same result for a repeated append, also after a restart', async () => {
    const request = appendOf('s-1', FIRST, 2);
    const first = await store.append(request);
    await reopen();
    expect(await store.append(request)).toEqual(first);
    expect(await readWholeLog(store)).toHaveLength(2);
  });

  test('stores consecutive appends to one stream without waiting for each', async () => {
    let place: Place = FIRST;
    const requests = Array.from({ length: 30 }, () => {
      const request = appendOf('s-1', place, 2);
      place = afterAppend(request);
      return request;
    });
    const results = await Promise.all(requests.map((request) => store.append(request)));
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(idsOf(await store.readStream('s-1'))).toEqual(requests.flatMap(({ events }) => idsOf(events)));
  });

  test('refuses only the invalid ones of many appends at once', async () => {
    await grow(store, 's-1', 2);
    const last = (await store.lastOfStream('s-1'))!;
    const right = { revision: 2, prev: last.hash };
    const forged = { ...sampleEvent('s-2', FIRST), data: '{"forged":true}' };
    const outcomes = await Promise.allSettled([
      store.append(appendOf('a-1', FIRST)),
      store.append(appendOf('s-1', FIRST)),
      store.append({ stream: 's-2', expected: 'no-stream', events: [forged] }),
      store.append(appendOf('s-1', { revision: 2, prev: 'f'.repeat(64) })),
      store.append(appendOf('s-3', { revision: 0, prev: last.hash })),
      store.append(appendOf('s-1', right)),
      store.append(appendOf('a-2', FIRST, 3)),
    ]);
    expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.ok : 'rejected'))).toEqual([
      true,
      false,
      'rejected',
      'rejected',
      'rejected',
      true,
      true,
    ]);
    expect((await readWholeLog(store)).map(({ stream }) => stream)).toEqual([
      's-1',
      's-1',
      'a-1',
      's-1',
      'a-2',
      'a-2',
      'a-2',
    ]);
    expect(store.verifyTail(10)).toEqual({ ok: true, checked: 7 });
    expect(await store.append(appendOf('s-2', FIRST))).toMatchObject({ ok: true, revision: 0 });
  });

  test.each([
    ['no events', { events: [] }],
    ['a stream name with a space', { stream: 'not a name' }],
    ['an empty stream name', { stream: '' }],
    ['a negative revision', { expected: -1 }],
    ['a revision that is no integer', { expected: 0.5 }],
    ['data that is not text', { events: [{ ...sampleEvent('s-1', FIRST), data: {} as unknown as string }] }],
    ['a hash that is none', { events: [{ ...sampleEvent('s-1', FIRST), hash: 'abc' }] }],
    ['an event over the size limit', { events: [sampleEvent('s-1', FIRST, 'x'.repeat(3_000_000))] }],
  ])("rejects a request with %s as the caller's mistake", async (_, change) => {
    await expect(store.append({ ...appendOf('s-1', FIRST), ...change })).rejects.toThrow(TypeError);
    expect(await store.head()).toBeNull();
  });

  test('hands the pen back and forth between lone callers and crowds without losing a place', async () => {
    const results: AppendResult[] = [];
    for (let round = 0; round < 4; round += 1) {
      await grow(store, 'lone', 25);
      await Promise.all(Array.from({ length: 12 }, (_, index) => grow(store, `crowd-${index}`, 3)));
      const last = (await store.lastOfStream('lone'))!;
      results.push(await store.append(appendOf('lone', { revision: last.revision + 1, prev: last.hash })));
    }
    expect(results.map((result) => result.ok && result.revision)).toEqual([25, 51, 77, 103]);
    const log = await readWholeLog(store);
    expect(log.map(({ position }) => Number(position))).toEqual(log.map((_, index) => index + 1));
    expect(store.verifyTail(log.length)).toEqual({ ok: true, checked: 4 * (25 + 36 + 1) });
  });

  test('bounds its queue: it refuses at once what does not fit, and stores the rest', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 17_000 }, (_, index) => store.append(appendOf(`s-${index}`, FIRST))),
    );
    const stored = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(stored).toBeGreaterThanOrEqual(16_384);
    expect(stored).toBeLessThan(17_000);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(StoreUnavailable);
    expect(await store.head()).toBe(String(stored));
  });

  test('finds every stream by name, both in memory and in the file', async () => {
    const streams = Array.from({ length: 5_000 }, (_, index) => `s-${index}`);
    await Promise.all(streams.map((stream) => store.append(appendOf(stream, FIRST))));
    const some = streams.filter((_, index) => index % 250 === 0);
    const expectTaken = async (): Promise<void> => {
      for (const stream of some) {
        expect(await store.append(appendOf(stream, FIRST))).toEqual({ ok: false, actual: 0 });
        expect(await store.readStream(stream)).toHaveLength(1);
      }
    };
    await expectTaken();
    const log = await readWholeLog(store);
    const names = StreamNamesFile.openToRead(dataDir, (number) => log[number - 1]!.stream)!;
    await until('all names are in the file', () => names.progress().position === 5_000);
    expect(some.map((stream) => names.numberOf(stream))).not.toContain(null);
    names.close();
    await expectTaken();
    await reopen();
    await expectTaken();
  });

  test('stores everything that it accepted before it was closed, and nothing afterwards', async () => {
    const appends = Array.from({ length: 40 }, (_, index) => store.append(appendOf(`s-${index}`, FIRST)));
    const closed = store.close();
    await expect(store.append(appendOf('late', FIRST))).rejects.toThrow(StoreUnavailable);
    await closed;
    expect((await Promise.all(appends)).every(({ ok }) => ok)).toBe(true);
    await expect(store.readStream('s-1')).rejects.toThrow(StoreUnavailable);
    store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
    expect(await readWholeLog(store)).toHaveLength(40);
  });

  test('lets nobody change or remove an event, whatever the statement', async () => {
    await grow(store, 's-1', 2);
    await store.close();
    const database = new DatabaseSync(join(dataDir, 'events.db'));
    for (const sql of [
      "UPDATE events SET data = '{}'",
      'UPDATE events SET position = 7 WHERE position = 1',
      'DELETE FROM events',
      'DELETE FROM events WHERE position = 2',
      'PRAGMA recursive_triggers = ON; INSERT OR REPLACE INTO events SELECT * FROM events WHERE position = 1',
    ]) {
      expect(() => database.exec(sql), sql).toThrow(/append-only/);
    }
    expect(() =>
      database.exec(
        'INSERT INTO events SELECT 9, stream_number, revision, stream, id, type, version, at_ms, data, metadata, hash, chain, seal FROM events',
      ),
    ).toThrow(/UNIQUE/);
    database.close();
    store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
    expect(await readWholeLog(store)).toHaveLength(2);
  });

  test('chains its log: each link is the hash of the link before and the hash of the event', async () => {
    await grow(store, 's-1', 3);
    await store.close();
    const database = new DatabaseSync(join(dataDir, 'events.db'), { readOnly: true });
    const rows = database.prepare('SELECT hash, chain FROM events ORDER BY position').all() as unknown as {
      hash: string;
      chain: string;
    }[];
    database.close();
    const { createHash } = await import('node:crypto');
    let chain = '0'.repeat(64);
    for (const row of rows) {
      chain = createHash('sha256')
        .update(chain + row.hash)
        .digest('hex');
      expect(row.chain).toBe(chain);
    }
    store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  });

  describe('its subscriptions', () => {
    test('begin in the file, go over into memory, and miss nothing on the way', async () => {
      for (const stream of ['a-1', 'b-1', 'a-2']) await grow(store, stream, 20);
      await reopen();
      const seen: RecordedEvent[] = [];
      const subscription = store.subscribe({
        name: 'x',
        after: '7',
        streamPrefixes: ['a-'],
        maxBatch: 6,
        onEvents: (events) => void seen.push(...events),
      });
      await Promise.all(['a-3', 'b-2', 'a-4'].map((stream) => grow(store, stream, 30)));
      await subscription.reached((await store.head())!);
      const log = await readWholeLog(store);
      expect(seen).toEqual(log.slice(7).filter(({ stream }) => stream.startsWith('a-')));
    });

    test('refuse to begin beyond the end of the log, where new events would be skipped', async () => {
      await grow(store, 's-1', 2);
      const options = { name: 'ahead', onEvents: () => {} };
      expect(() => store.subscribe({ ...options, after: '3' })).toThrow(/beyond/);
      expect(() => store.subscribe({ ...options, after: 'commit:1' })).toThrow(/not a position/);
      expect(() => store.subscribe({ ...options, after: '2' })).not.toThrow();
    });

    test('report every failed attempt, and end with the store while a handler keeps failing', async () => {
      await store.close();
      const failures: string[] = [];
      store = await openSqliteEventStore({
        dataDir,
        sealKeys: SEAL_KEYS,
        onSubscriptionError: (name, error, attempt) => failures.push(`${name} ${attempt} ${(error as Error).message}`),
      });
      await grow(store, 's-1', 1);
      const subscription = store.subscribe({
        name: 'doomed',
        after: null,
        onEvents: () => {
          throw new Error('no');
        },
      });
      const reached = subscription.reached('1').catch((error: unknown) => error);
      await until('two attempts have failed', () => failures.length >= 2);
      expect(failures.slice(0, 2)).toEqual(['doomed 1 no', 'doomed 2 no']);
      expect(subscription.position).toBeNull();
      await store.close();
      expect(await reached).toBeInstanceOf(StoreUnavailable);
    });

    test('keep their memory bound: a slow one reads from the file and is live again once it reaches its end', async () => {
      let release: () => void = () => {};
      const gate = new Promise<void>((resolve) => (release = resolve));
      const seen: string[] = [];
      const seenByQuick: string[] = [];
      store.subscribe({ name: 'quick', after: null, onEvents: (events) => void seenByQuick.push(...idsOf(events)) });
      const subscription = store.subscribe({
        name: 'slow',
        after: null,
        onEvents: async (events) => {
          await gate;
          seen.push(...idsOf(events));
        },
      });
      // More than the recent events that are kept in memory.
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(
          Array.from({ length: 4_000 }, (_, index) => store.append(appendOf(`s-${round}-${index}`, FIRST))),
        );
      }
      expect(subscription.lag).toBe(12_000);
      release();
      await grow(store, 'meanwhile', 20);
      await subscription.reached('12020');
      await grow(store, 'afterwards', 20);
      await subscription.reached('12040');
      const log = idsOf(await readWholeLog(store, 5_000));
      expect(seen).toEqual(log);
      expect(seenByQuick).toEqual(log);
    });
  });

  describe('its read-only opener', () => {
    test('reads beside the writer, even what was just stored', async () => {
      await grow(store, 's-1', 2);
      const reader = await openSqliteEventStoreReader({ dataDir });
      expect(await reader.readStream('s-1')).toEqual(await store.readStream('s-1'));
      await grow(store, 's-2', 3);
      expect(await reader.lastOfStream('s-2')).toEqual(await store.lastOfStream('s-2'));
      expect(await reader.readStream('s-2', { from: 1, limit: 1 })).toHaveLength(1);
      expect(await reader.readStream('s-3')).toEqual([]);
      expect(await readWholeLog(reader)).toEqual(await readWholeLog(store));
      expect(await reader.head()).toBe('5');
      expect(reader.verifyTail(100)).toEqual({ ok: true, checked: 5 });
      await reader.close();
    });

    test('finds a stream whose name is added to the file during the search', async () => {
      await grow(store, 's-1', 1);
      await store.close();
      const names = StreamNamesFile.open(dataDir, () => null);
      names.clear();
      const reader = await openSqliteEventStoreReader({ dataDir });
      const find = vi.spyOn(StreamNamesFile.prototype, 'numberOf').mockImplementationOnce(() => {
        names.add([{ name: 's-1', number: 1 }], { position: 1, chain: '' });
        return null;
      });
      expect(await reader.readStream('s-1')).toHaveLength(1);
      find.mockRestore();
      names.close();
      await reader.close();
    });

    test('rebuilds the index of stream names if its file cannot be read', async () => {
      await grow(store, 's-1', 2);
      const before = await store.readStream('s-1');
      await store.close();
      for (const suffix of ['-wal', '-shm']) rmSync(join(dataDir, `stream-names.db${suffix}`), { force: true });
      writeFileSync(
        join(dataDir, 'stream-names.db'),
        'not a database, and longer than the header of one: '.repeat(100),
      );
      store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
      expect(await store.readStream('s-1')).toEqual(before);
      await grow(store, 's-2', 1);
      expect(await store.readStream('s-2')).toHaveLength(1);
    });

    test('reads without a writer, and reports a missing log', async () => {
      await grow(store, 's-1', 2);
      await store.close();
      const reader = await openSqliteEventStoreReader({ dataDir });
      expect(await readWholeLog(reader)).toHaveLength(2);
      await reader.close();
      await expect(openSqliteEventStoreReader({ dataDir: join(dataDir, 'nowhere') })).rejects.toThrow(/no event log/);
      store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
    });
  });
});
