import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRedisNonces } from '../../src/adapters/redis/nonces.ts';
import { openRedisSharedStatus } from '../../src/adapters/redis/shared-status.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { RedisCluster } from '../support/redis-cluster.ts';
import { redisLeasesSubject, redisNoncesSubject } from '../support/redis-contract-subjects.ts';
import { leasesContract } from './leases.contract.ts';
import { noncesContract } from './nonces.contract.ts';
import { redisSharedContract } from './redis-shared.contract.ts';

const NAME = 'Redis Cluster (three real masters)';
let cluster: RedisCluster;
beforeAll(async () => void (cluster = await RedisCluster.start()), 120_000);
afterAll(() => cluster.stop());

noncesContract(NAME, () => redisNoncesSubject(cluster.url));

leasesContract(NAME, () => redisLeasesSubject(cluster.url));

redisSharedContract(NAME, () => cluster.url);

describe('a Redis Cluster', () => {
  test('held the keys of the tests above on several masters', async () => {
    expect(await cluster.spread()).toBe(3);
  });

  test('whose nodes do not respond fails in time and works again when they do', async () => {
    const sharedStatus = await openRedisSharedStatus({ url: cluster.url, prefix: randomUUID(), commandMs: 300 });
    try {
      cluster.freezeMasters();
      await expect(sharedStatus.refresh()).rejects.toThrow(StoreUnavailable);
      cluster.thaw();
      await expect
        .poll(
          () =>
            sharedStatus.refresh().then(
              () => 'answered',
              () => 'silent',
            ),
          { timeout: 15_000 },
        )
        .toBe('answered');
    } finally {
      cluster.thaw();
      await sharedStatus.close();
    }
  });

  test('is not opened while no node responds', async () => {
    await expect(openRedisSharedStatus({ url: 'redis+cluster://127.0.0.1:1', commandMs: 200 })).rejects.toThrow(
      StoreUnavailable,
    );
  });
});

describe('a Redis Cluster whose masters die', () => {
  test('continues with their replicas; nonces count as lost, since replication may have been behind', async () => {
    const own = await RedisCluster.start({ replicas: 3 });
    const NOW = 1_800_000_000;
    const nonces = await openRedisNonces({ url: own.url, emptyMeans: 'new', commandMs: 500 });
    const sharedStatus = await openRedisSharedStatus({ url: own.url, commandMs: 500 });
    try {
      expect(await nonces.burn('key_a', 'n-1', NOW, 'with-command')).toEqual({ accepted: true });
      sharedStatus.publish('deliver-webhooks', 1, 'before');
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
      const toldAgain = (): unknown => (
        sharedStatus.publish('deliver-webhooks', 2, 'after'),
        sharedStatus.read('deliver-webhooks')
      );
      await expect.poll(toldAgain, { timeout: 30_000, interval: 200 }).toBe('after');
    } finally {
      await Promise.all([nonces.close(), sharedStatus.close()]);
      await own.stop();
    }
  }, 120_000);
});
