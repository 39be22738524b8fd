import { expect, test } from 'vitest';
import { openDistributed } from '../../../../src/composition/storage/distributed.ts';
import { InvalidConfig, readConfig } from '../../../../src/config.ts';

const roles = { api: true, worker: true, signer: false };
const deps = { log: { warn: () => undefined }, namespace: '', roles } as unknown as Parameters<
  typeof openDistributed
>[1];
const servers = {
  eventStoreUrl: 'esdb://127.0.0.1:1?tls=false',
  redisUrl: 'redis://127.0.0.1:1',
  redisSurvivesRestarts: false,
  snapshots: null,
};

test.each([
  [{ redisUrl: 'redis://:very-secret@one:1,two:2' }, /^REDIS_URL names several hosts/],
  [{ redisUrl: 'localhost:6379' }, /^REDIS_URL must be one of redis:\/\//],
  [
    { redisUrl: 'redis+cluster://a:1,b:2', redisSurvivesRestarts: true },
    /^REDIS_SURVIVES_RESTARTS is for one server only/,
  ],
  [{ eventStoreUrl: 'esdb://admin:very-secret@' }, /^EVENTSTORE_URL: the connection string/],
])(
  'an address that cannot be used is refused by the name of its setting, without the password: %j',
  async (change, message) => {
    const error = await openDistributed({ ...servers, ...change }, deps).then(
      () => null,
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(InvalidConfig);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toContain('very-secret');
  },
);

test('nothing is assumed to survive restarts unless a setting says so', () => {
  expect(readConfig({}).REDIS_SURVIVES_RESTARTS).toBe(false);
});
