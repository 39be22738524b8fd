import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openRedisReadModel } from '../../src/adapters/redis/read-model.ts';
import { ReadModelMoved } from '../../src/ports/read-model.ts';
import { StoreUnavailable } from '../../src/ports/event-store.ts';
import type { Change, ReadModel } from '../../src/ports/read-model.ts';
import { redisReadModelSubject } from '../support/redis-contract-subjects.ts';
import { RedisServer } from '../support/redis-server.ts';
import { readModelContract } from './read-model.contract.ts';

let server: RedisServer;
beforeAll(async () => void (server = await RedisServer.start()));
afterAll(() => server.stop());

readModelContract('Redis (a real redis-server)', () => redisReadModelSubject(server.url));

describe('the read model in Redis', () => {
  let own: RedisServer;
  let model: ReadModel;
  let control: Redis;
  const put = (n: number): Change => ({ op: 'put', table: 'rows@1', key: 'a', row: { n } });

  beforeEach(async () => {
    own = await RedisServer.start();
    model = await openRedisReadModel({ url: own.url, commandMs: 300 });
    control = new Redis(own.url);
    control.on('error', () => {});
  });
  afterEach(async () => {
    own.thaw();
    control.disconnect();
    await model.close();
    await own.stop();
  });

  test('refuses to go on after FLUSHALL, and fills again from the beginning', async () => {
    await model.apply('records', [put(1)], '1');
    await control.flushall();
    await expect(model.apply('records', [put(2)], '2')).rejects.toThrow(ReadModelMoved);
    expect(await model.get('rows@1', 'a')).toBeNull();
    expect(await model.begin('records')).toBeNull();
    await model.apply('records', [put(1)], '1');
    await model.apply('records', [put(2)], '2');
    expect([await model.checkpoint('records'), await model.get('rows@1', 'a')]).toEqual(['2', { n: 2 }]);
  });

  test('gives whole pages while rows are deleted, so that a short one is the last', async () => {
    const keys = ['a', 'b', 'c', 'd'];
    await model.apply(
      'records',
      keys.map((key) => ({ op: 'put', table: 'rows@1', key, row: { key } })),
      '1',
    );
    // Both go over one connection: the row is gone when it is read, and was there when its key was.
    const scanning = model.scan('rows@1', { limit: 2 });
    const deleting = model.apply('records', [{ op: 'delete', table: 'rows@1', key: 'a' }], '2');
    expect((await scanning).map(({ key }) => key)).toEqual(['b', 'c']);
    await deleting;
    expect((await model.scan('rows@1', { afterKey: 'b', limit: 5 })).map(({ key }) => key)).toEqual(['c', 'd']);
  });

  test('lets only one of two writers of a projection go on', async () => {
    const other = await openRedisReadModel({ url: own.url });
    try {
      await model.apply('records', [put(1)], '1');
      expect(await other.begin('records')).toBe('1');
      await other.apply('records', [put(2)], '2');
      await expect(model.apply('records', [put(7)], '3')).rejects.toThrow(ReadModelMoved);
      expect(await model.get('rows@1', 'a')).toEqual({ n: 2 });
    } finally {
      await other.close();
    }
  });

  test('takes the same apply again when nobody knows whether it happened', async () => {
    await model.apply('records', [put(1)], '1');
    own.freeze();
    await expect(model.apply('records', [put(2)], '2')).rejects.toThrow(StoreUnavailable);
    own.thaw();
    await expect
      .poll(
        () =>
          model
            .apply('records', [put(2)], '2')
            .then(() => true)
            .catch(() => false),
        { timeout: 5_000 },
      )
      .toBe(true);
    await model.apply('records', [put(3)], '3');
    expect([await model.checkpoint('records'), await model.get('rows@1', 'a')]).toEqual(['3', { n: 3 }]);
  });

  test('changes nothing when Redis has no memory left', async () => {
    await model.apply('records', [put(1)], '1');
    await control.config('SET', 'maxmemory', '1');
    await expect(model.apply('records', [put(2)], '2')).rejects.toThrow(StoreUnavailable);
    await control.config('SET', 'maxmemory', '0');
    expect(await model.get('rows@1', 'a')).toEqual({ n: 1 });
    await model.apply('records', [put(2)], '2');
    expect(await model.checkpoint('records')).toBe('2');
    expect(await model.get('rows@1', 'a')).toEqual({ n: 2 });
  });

  test('takes an apply of more words than a function takes arguments', async () => {
    const patient = await openRedisReadModel({ url: own.url, commandMs: 20_000 });
    try {
      const changes = Array.from({ length: 30_000 }, (_, order): Change => {
        return { op: 'enlist', lists: ['records@1/a'], member: `m${order}`, order, atSec: order };
      });
      await patient.apply('records', changes, '1');
      expect(await patient.page('records@1/a', { offset: 29_999, limit: 1 })).toEqual({ members: [{ member: 'm0', order: 0 }], total: 30_000 });
    } finally {
      await patient.close();
    }
  });

  test('is asked for a page of a table, however many rows the table has', async () => {
    const patient = await openRedisReadModel({ url: own.url, commandMs: 20_000 });
    const keyOf = (index: number): string => String(index).padStart(9, '0');
    const fill = async (from: number, to: number): Promise<void> => {
      for (let at = from; at < to; at += 500) {
        const indexes = Array.from({ length: 500 }, (_, index) => at + index);
        const rows = indexes.map((index): Change => ({ op: 'put', table: 'rows@1', key: keyOf(index), row: { text: 'x'.repeat(100) } }));
        await patient.apply('records', rows, String(at + 500));
      }
    };
    const bytesOfAPage = async (): Promise<number> => {
      const sent = async (): Promise<number> => Number(/total_net_output_bytes:(\d+)/.exec(await control.info('stats'))![1]);
      const [before, asking] = [await sent(), (await control.info('stats')).length];
      expect(await patient.scan('rows@1', { afterKey: keyOf(500), limit: 50 })).toHaveLength(50);
      return (await sent()) - before - asking;
    };
    try {
      await fill(0, 1_000);
      const few = await bytesOfAPage();
      await fill(1_000, 20_000);
      expect(await bytesOfAPage()).toBeLessThan(2 * few);
      expect(few).toBeLessThan(20_000);
    } finally {
      await patient.close();
    }
  });

  test('leaves nothing of rows that were cleared', async () => {
    await model.begin('records');
    await model.apply('records', [put(1), { op: 'enlist', lists: ['records@1/l'], member: 'm', order: 0, atSec: 1 }], '1');
    const kept = await control.keys('*');
    await model.clear({ projection: 'records', tables: ['rows@1'], lists: ['records@1/'] });
    const left = (): Promise<string[]> => control.keys('*').then((keys) => keys.filter((key) => /:(table|ordered|list|times|names):/.test(key)));
    expect(kept.filter((key) => /:(table|ordered|list|times|names):/.test(key))).toHaveLength(5);
    await expect.poll(left).toEqual([]);
  });

  test('keeps all its keys in one slot', async () => {
    await model.apply('records', [put(1), { op: 'enlist', lists: ['l'], member: 'm', order: 0, atSec: 1 }], '1');
    const keys = await control.keys('*');
    expect(keys.length).toBeGreaterThan(3);
    const tags = new Set(keys.map((key) => /\{([^}]+)\}/.exec(key)?.[1]));
    expect([...tags]).toEqual(['quittance:look-ups']);
  });

  test('shows no password when Redis refuses it', async () => {
    await control.config('SET', 'requirepass', 'the-right-one');
    const seen: unknown[] = [];
    const url = own.url.replace('redis://', 'redis://:very-secret@');
    seen.push(await openRedisReadModel({ url, commandMs: 300, onError: (error) => seen.push(error) }).catch((error: unknown) => error));
    expect(seen.at(-1)).toBeInstanceOf(StoreUnavailable);
    for (const error of seen) expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('very-secret');
  });

  test('is not opened while nobody answers', async () => {
    await own.kill();
    await expect(openRedisReadModel({ url: own.url, commandMs: 200 })).rejects.toThrow(StoreUnavailable);
  });
});
