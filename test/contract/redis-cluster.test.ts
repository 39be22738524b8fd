import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRedisNonces } from '../../src/adapters/redis/nonces.ts';
import { openRedisReadModel } from '../../src/adapters/redis/read-model.ts';
import { StoreUnavailable } from '../../src/ports/event-store.ts';
import { RedisCluster } from '../support/redis-cluster.ts';
import { redisLeasesSubject, redisNoncesSubject, redisReadModelSubject } from '../support/redis-contract-subjects.ts';
import { leasesContract } from './leases.contract.ts';
import { noncesContract } from './nonces.contract.ts';
import { readModelContract } from './read-model.contract.ts';
import { redisSharedContract } from './redis-shared.contract.ts';

const NAME = 'Redis Cluster (three real masters)';
let cluster: RedisCluster;
beforeAll(async () => void (cluster = await RedisCluster.start()), 120_000);
afterAll(() => cluster.stop());

readModelContract(NAME, () => redisReadModelSubject(cluster.url));

noncesContract(NAME, () => redisNoncesSubject(cluster.url));

leasesContract(NAME, () => redisLeasesSubject(cluster.url));

redisSharedContract(NAME, () => cluster.url);

describe('a Redis Cluster', () => {
  test('was really spread over by what ran above', async () => {
    expect(await cluster.spread()).toBe(3);
  });

  test('whose nodes do not answer is an error in time, and goes on when they do', async () => {
    const model = await openRedisReadModel({ url: cluster.url, prefix: randomUUID(), commandMs: 300 });
    try {
      await model.apply('records', [], '1');
      cluster.freezeMasters();
      await expect(model.checkpoint('records')).rejects.toThrow(StoreUnavailable);
      await expect(model.apply('records', [], '2')).rejects.toThrow(StoreUnavailable);
      cluster.thaw();
      await expect.poll(() => model.begin('records').catch(() => null), { timeout: 15_000 }).toMatch(/^[12]$/);
      await model.apply('records', [], '3');
    } finally {
      cluster.thaw();
      await model.close();
    }
  });

  test('is not opened while nobody answers', async () => {
    await expect(openRedisReadModel({ url: 'redis+cluster://127.0.0.1:1', commandMs: 200 })).rejects.toThrow(StoreUnavailable);
  });
});

describe('a Redis Cluster whose masters die', () => {
  test('goes on with their replicas; nonces count as lost, since replication may have been behind', async () => {
    const own = await RedisCluster.start({ replicas: 3 });
    const NOW = 1_800_000_000;
    const nonces = await openRedisNonces({ url: own.url, emptyMeans: 'new', commandMs: 500 });
    const model = await openRedisReadModel({ url: own.url, commandMs: 500 });
    try {
      expect(await nonces.burn('key_a', 'n-1', NOW, 'with-command')).toEqual({ accepted: true });
      await model.begin('records');
      await model.apply('records', [], '1');
      await own.failOver();
      await expect
        .poll(
          () =>
            nonces.burn('key_a', 'read', NOW, 'now').then(
              () => 'answered',
              (error: Error) => error.message,
            ),
          { timeout: 60_000 },
        )
        .toBe('answered');
      await expect(nonces.burn('key_a', 'n-2', NOW + 1, 'with-command')).rejects.toThrow(/used nonces were lost/);
      expect(await nonces.burn('key_a', 'n-3', NOW + 601, 'with-command')).toEqual({ accepted: true });
      await expect.poll(() => model.begin('records').catch(() => 'no answer'), { timeout: 30_000 }).not.toBe('no answer');
      await model.apply('records', [], '2');
    } finally {
      await Promise.all([nonces.close(), model.close()]);
      await own.stop();
    }
  }, 120_000);
});
