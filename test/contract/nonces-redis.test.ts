import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openRedisNonces } from '../../src/adapters/redis/nonces.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { redisNoncesSubject } from '../support/redis-contract-subjects.ts';
import { RedisServer } from '../support/redis-server.ts';
import { noncesContract } from './nonces.contract.ts';

let server: RedisServer;
beforeAll(async () => void (server = await RedisServer.start()));
afterAll(() => server.stop());

noncesContract('Redis (a real redis-server)', () => redisNoncesSubject(server.url));

describe('nonces that Redis may have lost', () => {
  const NOW = 1_800_000_000;
  let own: RedisServer;
  let control: Redis;

  beforeEach(async () => {
    own = await RedisServer.start({ appendOnly: true });
    control = new Redis(own.url);
    control.on('error', () => {});
  });
  afterEach(async () => {
    own.thaw();
    control.disconnect();
    await own.stop();
  });

  async function burns(
    nonces: Awaited<ReturnType<typeof openRedisNonces>>,
    from: number,
    durable: 'now' | 'with-command',
  ): Promise<string[]> {
    const outcomes: string[] = [];
    for (const [index, later] of [0, 300, 600, 601].entries()) {
      const burnt = nonces.burn('key_a', `after-${durable}-${index}`, from + later, durable);
      outcomes.push(
        await burnt.then(
          ({ accepted }) => (accepted ? 'accepted' : 'used'),
          (error: unknown) => (error instanceof StoreUnavailable ? 'refused' : 'broken'),
        ),
      );
    }
    return outcomes;
  }

  test('by FLUSHALL refuse requests that change something for 600 seconds, on every node, and allow reads', async () => {
    const nonces = await openRedisNonces({ url: own.url, emptyMeans: 'new' });
    const other = await openRedisNonces({ url: own.url });
    try {
      expect(await nonces.burn('key_a', 'n-1', NOW, 'with-command')).toEqual({ accepted: true });
      await control.flushall();
      expect(await burns(nonces, NOW + 10, 'with-command')).toEqual(['refused', 'refused', 'refused', 'accepted']);
      expect(await burns(other, NOW + 10, 'with-command')).toEqual(['refused', 'refused', 'refused', 'used']);
      expect(await burns(nonces, NOW + 10, 'now')).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
      // What an idempotency key protects goes on, and what changes something without riding with a command does not.
      expect(await nonces.burn('key_a', 'protected', NOW + 11, 'with-command', true)).toEqual({
        accepted: true,
        mayBeReplay: true,
      });
      await expect(other.burn('key_a', 'unprotected', NOW + 11, 'now', false)).rejects.toThrow(StoreUnavailable);
    } finally {
      await Promise.all([nonces.close(), other.close()]);
    }
  });

  test('by a restart refuse what changes something, unless every command was on disk', async () => {
    const careful = await openRedisNonces({ url: own.url, prefix: 'careful', emptyMeans: 'new' });
    const trusting = await openRedisNonces({
      url: own.url,
      prefix: 'trusting',
      emptyMeans: 'new',
      survivesRestarts: true,
    });
    try {
      for (const nonces of [careful, trusting])
        expect(await nonces.burn('key_a', 'n-1', NOW, 'with-command')).toEqual({ accepted: true });
      await own.restart();
      const settled = (nonces: typeof careful) =>
        nonces.burn('key_a', 'warm-up', NOW, 'now').then(
          () => true,
          () => false,
        );
      await expect
        .poll(async () => (await settled(careful)) && (await settled(trusting)), { timeout: 10_000 })
        .toBe(true);
      expect(await burns(careful, NOW, 'with-command')).toEqual(['refused', 'refused', 'refused', 'accepted']);
      expect(await trusting.burn('key_a', 'n-2', NOW, 'with-command')).toEqual({ accepted: true });
      expect(await trusting.burn('key_a', 'n-1', NOW, 'with-command')).toEqual({ accepted: false });
    } finally {
      await Promise.all([careful.close(), trusting.close()]);
    }
  });

  test('count as lost if a node finds Redis empty without knowing that it is new', async () => {
    const nonces = await openRedisNonces({ url: own.url });
    try {
      expect(await burns(nonces, NOW, 'with-command')).toEqual(['refused', 'refused', 'refused', 'accepted']);
    } finally {
      await nonces.close();
    }
  });

  test('and no response never counts as permission', async () => {
    const nonces = await openRedisNonces({ url: own.url, emptyMeans: 'new', commandMs: 200 });
    try {
      own.freeze();
      await expect(nonces.burn('key_a', 'n-1', NOW, 'now')).rejects.toThrow(StoreUnavailable);
    } finally {
      own.thaw();
      await nonces.close();
    }
  });
});
