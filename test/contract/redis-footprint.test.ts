import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRedisDeliveryAnswers } from '../../src/adapters/redis/delivery-answers.ts';
import { openRedisLeases } from '../../src/adapters/redis/leases.ts';
import { openRedisNonces } from '../../src/adapters/redis/nonces.ts';
import { openRedisRateLimiter } from '../../src/adapters/redis/rate-limiter.ts';
import { openRedisSharedStatus } from '../../src/adapters/redis/shared-status.ts';
import type { NotificationId } from '../../src/domain/values/ids.ts';
import { RedisServer } from '../support/redis-server.ts';

/*
 * What sessions leave in Redis: nothing that stays. `FOOTPRINT_SESSIONS` (default 500) is how many; the bytes of each
 * kind are printed where it is set.
 */

const GIVEN = process.env['FOOTPRINT_SESSIONS'];
const SESSIONS = Number(GIVEN ?? 500);
const NOW_SEC = 1_800_000_000;
const HOUR_MS = 3_600_000;

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await RedisServer.start();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const memory = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))![1]);

/** Bytes that each one takes. */
async function cost(what: string, count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  const before = await memory();
  for (let from = 0; from < count; from += 200)
    await Promise.all(Array.from({ length: Math.min(200, count - from) }, (_, index) => work(from + index)));
  if (GIVEN !== undefined)
    console.error(`${what}: ${(((await memory()) - before) / count).toFixed(0)} bytes each, of ${count}`);
}

test('everything that grows with sessions goes within the hour, and what stays is as much as there are processes and networks', async () => {
  const options = { url: server.url, prefix: randomUUID() };
  const nonces = await openRedisNonces({ ...options, emptyMeans: 'new' });
  const limiter = await openRedisRateLimiter({ ...options, ratePerSec: 1, burst: 5 });
  const answers = await openRedisDeliveryAnswers(options);
  const sharedStatus = await openRedisSharedStatus(options);
  const leases = await openRedisLeases(options);
  await leases.acquire('deliver-webhooks', 60_000);
  sharedStatus.publish('watch-test-bsc', 1, { scannedToSec: NOW_SEC, coveredBlock: 7 });
  sharedStatus.publish('look-ups/node', 0, {}, HOUR_MS);
  await sharedStatus.refresh();
  const fixed = new Set(await redis.keys('*'));
  await cost('nonce of a signed request', 2 * SESSIONS, () => nonces.burn('key_a', randomUUID(), NOW_SEC, 'now'));
  await cost('rate limit of a key', SESSIONS, (index) => limiter.take(`key_${index}`, NOW_SEC * 1_000));
  const body = new TextEncoder().encode('{"ok":true}');
  await cost("a receiver's answer", SESSIONS, (index) => {
    const notificationId = `evt_${1_800_000_000_000_000_000n + BigInt(index)}` as NotificationId;
    answers.keep({ notificationId, attempt: 1, body, atMs: NOW_SEC * 1_000 });
    return answers.of(notificationId);
  });
  await answers.close();
  const keys = await redis.keys('*');
  // Rate limits may be gone by now.
  expect(keys.length).toBeGreaterThanOrEqual(3 * SESSIONS);
  const lifetimes = redis.pipeline();
  const grown = keys.filter((key) => !fixed.has(key));
  for (const key of grown) lifetimes.pttl(key);
  const left = (await lifetimes.exec())!.map(([, ms]) => ms as number);
  const staying = grown.filter((_, index) => left[index] === -1 || left[index]! > HOUR_MS);
  // The marker by which a loss of nonces is noticed.
  expect(staying.length).toBeLessThanOrEqual(1);
  expect([...fixed].length).toBeLessThan(10);
  if (GIVEN !== undefined) console.error(`${((await memory()) / 2 ** 20).toFixed(1)} MiB in all`);
  // An hour later.
  for (const key of grown.filter((key) => !staying.includes(key))) void redis.pexpire(key, 1);
  await expect.poll(() => redis.dbsize(), { timeout: 10_000 }).toBeLessThanOrEqual(fixed.size + staying.length);
  if (GIVEN !== undefined) console.error(`${((await memory()) / 2 ** 20).toFixed(1)} MiB an hour later`);
  await Promise.all([nonces.close(), limiter.close(), sharedStatus.close(), leases.close()]);
}, 120_000);
