import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTokenBucketLimiter } from '../../src/adapters/memory/token-bucket.ts';
import { openRedisRateLimiter } from '../../src/adapters/redis/rate-limiter.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { RedisServer } from '../support/redis-server.ts';

const NOW_MS = 1_800_000_000_000;
let server: RedisServer;
beforeAll(async () => void (server = await RedisServer.start()));
afterAll(() => server.stop());

describe('rate limits in Redis', () => {
  test('decide as the bucket of one process does, for any sequence of takes', async () => {
    for (const settings of [
      { ratePerSec: 3, burst: 5 },
      { ratePerSec: 100, burst: 20 },
      { ratePerSec: 0.5, burst: 1 },
    ]) {
      const shared = await openRedisRateLimiter({ url: server.url, prefix: randomUUID(), ...settings });
      const alone = createTokenBucketLimiter(settings);
      let nowMs = NOW_MS;
      for (const waitMs of [0, 0, 0, 0, 0, 0, 0, 100, 400, 0, 1_000, 0, 5_000, 0, 0, -2_000, 0, 60_000, 0, 333, 334]) {
        nowMs += waitMs;
        expect(await shared.take('key_a', nowMs)).toEqual(alone.take('key_a', nowMs));
      }
      await shared.close();
    }
  });

  test('are one limit for all nodes', async () => {
    const options = { url: server.url, prefix: randomUUID(), ratePerSec: 1, burst: 10 };
    const nodes = [await openRedisRateLimiter(options), await openRedisRateLimiter(options)];
    const decisions = await Promise.all(
      Array.from({ length: 40 }, (_, index) => nodes[index % 2]!.take('key_a', NOW_MS)),
    );
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
    expect(await nodes[0]!.take('key_b', NOW_MS)).toMatchObject({ allowed: true, remaining: 9 });
    await Promise.all(nodes.map((node) => node.close()));
  });

  test('never allow a request while Redis does not respond', async () => {
    const own = await RedisServer.start();
    const limiter = await openRedisRateLimiter({ url: own.url, ratePerSec: 1, burst: 10, commandMs: 200 });
    try {
      own.freeze();
      await expect(limiter.take('key_a', NOW_MS)).rejects.toThrow(StoreUnavailable);
    } finally {
      own.thaw();
      await limiter.close();
      await own.stop();
    }
  });
});
