import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRedisLeases } from '../../src/adapters/redis/leases.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { redisLeasesSubject } from '../support/redis-contract-subjects.ts';
import { RedisServer } from '../support/redis-server.ts';
import { leasesContract } from './leases.contract.ts';

let server: RedisServer;
beforeAll(async () => void (server = await RedisServer.start()));
afterAll(() => server.stop());

leasesContract('Redis (a real redis-server)', () => redisLeasesSubject(server.url));

describe('leases in Redis', () => {
  test('grow their tokens over a restart that lost everything, and the old holder is out', async () => {
    const own = await RedisServer.start();
    const leases = await openRedisLeases({ url: own.url });
    try {
      const before = (await leases.acquire('one', 60_000))!;
      await own.restart();
      const again = await expect
        .poll(() => leases.acquire('one', 60_000).catch(() => null), { timeout: 10_000 })
        .not.toBeNull()
        .then(() => leases.acquire('two', 60_000));
      expect(again!.token).toBeGreaterThan(before.token);
      expect(await before.renew()).toBe(false);
    } finally {
      await leases.close();
      await own.stop();
    }
  });

  test("of a holder that died are granted again on time although the server's clock was set back", async () => {
    const prefix = 'set-back';
    const [mine, theirs] = [
      await openRedisLeases({ url: server.url, prefix }),
      await openRedisLeases({ url: server.url, prefix }),
    ];
    const control = new Redis(server.url);
    try {
      await mine.acquire('one', 200);
      // Redis keeps the moment when a key ends: an hour back, that is an hour more.
      await control.pexpire(`{${prefix}:lease:one}:holder`, 3_600_000);
      expect(await theirs.acquire('one', 200)).toBeNull();
      await expect.poll(() => theirs.acquire('one', 200), { timeout: 5_000 }).not.toBeNull();
    } finally {
      control.disconnect();
      await Promise.all([mine.close(), theirs.close()]);
    }
  });

  test('are lost and not granted while Redis does not respond', async () => {
    const own = await RedisServer.start();
    const leases = await openRedisLeases({ url: own.url, commandMs: 200 });
    try {
      const lease = (await leases.acquire('one', 60_000))!;
      own.freeze();
      expect(await lease.renew()).toBe(false);
      await expect(leases.acquire('two', 60_000)).rejects.toThrow(StoreUnavailable);
    } finally {
      own.thaw();
      await leases.close();
      await own.stop();
    }
  });
});
