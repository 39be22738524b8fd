import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRedisReadModel } from '../../src/adapters/redis/read-model.ts';
import { AuditStatusStore } from '../../src/composition/audit-status.ts';
import type { ReadModel } from '../../src/ports/read-model.ts';
import { RedisServer } from '../support/redis-server.ts';

const FAULT = 'event 7 does not have the hash it was written with';

let server: RedisServer;
let control: Redis;
const models: ReadModel[] = [];

beforeEach(async () => {
  server = await RedisServer.start();
  control = new Redis(server.url);
  control.on('error', () => {});
});
afterEach(async () => {
  await Promise.all(models.splice(0).map((model) => model.close()));
  control.disconnect();
  await server.stop();
});

/** As one process has it. */
async function status(): Promise<AuditStatusStore> {
  const [readModel, writtenModel] = [await openRedisReadModel({ url: server.url }), await openRedisReadModel({ url: server.url })];
  models.push(readModel, writtenModel);
  return new AuditStatusStore({ readModel, writtenModel });
}

test('what the signing process found is told again after FLUSHALL', async () => {
  const [signing, listening] = [await status(), await status()];
  await signing.publish({ verifierKey: 'key', fault: null }, null);
  await control.flushall();
  await signing.publish({ verifierKey: 'key', fault: null }, null);
  expect(await listening.notice()).toEqual({ verifierKey: 'key', fault: null });
  await signing.publish({ verifierKey: 'key', fault: FAULT }, null);
  expect(await listening.notice()).toEqual({ verifierKey: 'key', fault: FAULT });
});

test('a process that signs again after another one did is heard', async () => {
  const [one, other] = [await status(), await status()];
  await one.publish({ verifierKey: 'key', fault: null }, null);
  await other.publish({ verifierKey: 'key', fault: 'what the other one found' }, null);
  await one.publish({ verifierKey: 'key', fault: FAULT }, null);
  expect(await other.notice()).toEqual({ verifierKey: 'key', fault: FAULT });
});
