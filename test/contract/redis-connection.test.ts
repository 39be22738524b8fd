import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRedisLeases } from '../../src/adapters/redis/leases.ts';
import type { Leases } from '../../src/ports/leases.ts';
import { RedisServer } from '../support/redis-server.ts';

/*
 * One address behind which the server changes, as a name or an address that a fail-over moves: what is open stays open.
 */

let before: RedisServer;
let after: RedisServer;
let current: RedisServer;
let address: Server;
let leases: Leases;

const portOf = ({ url }: RedisServer): number => Number(new URL(url).port);

beforeEach(async () => {
  [before, after] = await Promise.all([RedisServer.start(), RedisServer.start()]);
  current = before;
  address = createServer((near) => {
    const far = connect(portOf(current), '127.0.0.1');
    near.pipe(far).pipe(near);
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
  });
  address.listen(0, '127.0.0.1');
  await once(address, 'listening');
  leases = await openRedisLeases({
    url: `redis://127.0.0.1:${(address.address() as AddressInfo).port}`,
    commandMs: 200,
  });
  expect(await leases.acquire('one', 60_000)).not.toBeNull();
});
afterEach(async () => {
  before.thaw();
  await leases.close();
  address.close();
  await Promise.all([before.stop(), after.stop()]);
});

const granted = () => leases.acquire('two', 60_000).catch(() => null);

test('a client leaves a server that became a replica for the one its address now leads to', async () => {
  const control = new Redis(before.url);
  await control.replicaof('127.0.0.1', portOf(after));
  control.disconnect();
  current = after;
  await expect.poll(granted, { timeout: 8_000 }).not.toBeNull();
});

test('a client leaves a silent server for the one its address now leads to', async () => {
  before.freeze();
  current = after;
  await expect.poll(granted, { timeout: 8_000 }).not.toBeNull();
});
