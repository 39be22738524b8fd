import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { openRedisDeliveryAnswers } from '../../src/adapters/redis/delivery-answers.ts';
import { openRedisRateLimiter } from '../../src/adapters/redis/rate-limiter.ts';
import { openRedisSharedStatus } from '../../src/adapters/redis/shared-status.ts';
import type { NotificationId } from '../../src/domain/values/ids.ts';

const NOW_MS = 1_800_000_000_000;
const REPORT = { scannedToSec: 5, coveredBlock: null };

/** What the small things that all nodes share must do, on whatever Redis the URL names. */
export function redisSharedContract(name: string, urlOf: () => string): void {
  describe(`${name} for what nodes share`, () => {
    test('a rate limit is one for all nodes, and one key does not use up another', async () => {
      const options = { url: urlOf(), prefix: randomUUID(), ratePerSec: 1, burst: 10 };
      const nodes = [await openRedisRateLimiter(options), await openRedisRateLimiter(options)];
      const decisions = await Promise.all(
        Array.from({ length: 40 }, (_, index) => nodes[index % 2]!.take('key_a', NOW_MS)),
      );
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
      expect(await nodes[0]!.take('key_b', NOW_MS)).toMatchObject({ allowed: true, remaining: 9 });
      await Promise.all(nodes.map((node) => node.close()));
    });

    test('the shared status tells every node how far another one is, and an old holder cannot speak over a new one', async () => {
      const options = { url: urlOf(), prefix: randomUUID() };
      const [mine, theirs] = [await openRedisSharedStatus(options), await openRedisSharedStatus(options)];
      expect(mine.read('watch-test-bsc')).toBeNull();
      mine.publish('watch-test-bsc', 2, REPORT);
      await expect.poll(() => theirs.read('watch-test-bsc'), { timeout: 5_000 }).toEqual(REPORT);
      theirs.publish('watch-test-bsc', 1, { ...REPORT, scannedToSec: 3 });
      theirs.publish('deliver-webhooks', 1, 'C:4/P:4');
      await expect.poll(() => mine.read('deliver-webhooks'), { timeout: 5_000 }).toBe('C:4/P:4');
      expect(mine.read('watch-test-bsc')).toEqual(REPORT);
      expect([...mine.readAll('watch-')]).toEqual([['watch-test-bsc', REPORT]]);
      await Promise.all([mine.close(), theirs.close()]);
    });

    test('what a process told that is gone leaves the shared status, and the rest of it stays', async () => {
      const options = { url: urlOf(), prefix: randomUUID() };
      const sharedStatus = await openRedisSharedStatus(options);
      sharedStatus.publish('look-ups/gone', 0, 1, 1);
      sharedStatus.publish('watch-test-bsc', 2, REPORT);
      await expect.poll(() => sharedStatus.read('watch-test-bsc'), { timeout: 5_000 }).toEqual(REPORT);
      sharedStatus.publish('look-ups/alive', 0, 2, 60_000);
      await expect.poll(() => sharedStatus.read('look-ups/gone'), { timeout: 5_000 }).toBeNull();
      await expect.poll(() => sharedStatus.read('look-ups/alive'), { timeout: 5_000 }).toBe(2);
      expect(sharedStatus.read('watch-test-bsc')).toEqual(REPORT);
      await sharedStatus.close();
    });

    test('the answers of a receiver are kept byte for byte, for the nodes that did not hear them', async () => {
      const options = { url: urlOf(), prefix: randomUUID() };
      const [mine, theirs] = [await openRedisDeliveryAnswers(options), await openRedisDeliveryAnswers(options)];
      const notificationId = 'evt_1' as NotificationId;
      const bodies = [new Uint8Array([0, 255, 13, 10]), new TextEncoder().encode('no “thanks”')];
      for (const [index, body] of bodies.entries())
        mine.keep({ notificationId, attempt: index + 1, body, atMs: NOW_MS });
      await mine.close();
      expect([...(await theirs.of(notificationId))]).toEqual(bodies.map((body, index) => [index + 1, body]));
      await theirs.close();
    });
  });
}
