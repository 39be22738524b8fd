import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectRedis, disconnectRedis } from '../../src/adapters/redis/connection.ts';
import { openRedisNonces } from '../../src/adapters/redis/nonces.ts';
import { InvalidRedisUrl } from '../../src/adapters/redis/url.ts';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { RedisServer } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* A real redis-server that speaks TLS only, started with the words of ops/docker/secure.yml. */

let folder: string;
let server: RedisServer;
const openssl = (...words: string[]): void => void execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });

/** An authority of its own, and a certificate of it for `localhost`. */
function authority(name: string): string {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.crt`,
    '-subj',
    `/CN=${name}`,
    '-days',
    '2',
  );
  return join(folder, `${name}.crt`);
}

beforeAll(async () => {
  folder = temporaryFolder('redis-tls');
  const caFile = authority('ca');
  authority('other');
  writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:redis,DNS:localhost');
  openssl(
    'req',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    'node.key',
    '-out',
    'node.csr',
    '-subj',
    '/CN=redis',
  );
  openssl(
    'x509',
    '-req',
    '-in',
    'node.csr',
    '-CA',
    'ca.crt',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-out',
    'node.crt',
    '-days',
    '2',
    '-extfile',
    'names',
  );
  const [certFile, keyFile] = [join(folder, 'node.crt'), join(folder, 'node.key')];
  server = await RedisServer.start({ tls: { certFile, keyFile, caFile, password: 'pass' } });
});
afterAll(() => server.stop());

const trusting = (name: string): string => `${server.url}?ca_file=${encodeURIComponent(join(folder, `${name}.crt`))}`;

it('is used over TLS by clients that trust its authority', async () => {
  const redis = await connectRedis({ url: trusting('ca') });
  expect(await redis.set('key', 'value')).toBe('OK');
  expect(await redis.get('key')).toBe('value');
  await disconnectRedis(redis);
  const nonces = await openRedisNonces({ url: trusting('ca'), emptyMeans: 'new' });
  await nonces.close();
});

it('is not used by clients that do not: another authority, none of its own, another name, no TLS', async () => {
  const without = server.url.replace('rediss:', 'redis:');
  for (const url of [trusting('other'), server.url, trusting('ca').replace('localhost', '127.0.0.1'), without])
    await expect(connectRedis({ url, commandMs: 500 }), url).rejects.toThrow(StoreUnavailable);
});

it('sends nothing in clear text', async () => {
  const port = Number(new URL(server.url).port);
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    let got = '';
    socket.on('data', (bytes) => (got += bytes.toString('latin1')));
    socket.on('close', () => resolve(got));
    socket.on('error', () => resolve(got));
  });
  expect(answer).not.toContain('PONG');
});

it.each([
  ['rediss://localhost?ca_file=/no/such/file', /ca_file that cannot be read/],
  ['rediss://localhost?ca_file=/etc/hostname', /ca_file without a certificate/],
  ['redis://localhost?ca_file=/etc/hostname', /knows no parameters but ca_file, of rediss/],
])('a setting that cannot be meant is refused in clear words: %s', async (url, reason) => {
  await expect(connectRedis({ url })).rejects.toThrow(reason);
  await expect(connectRedis({ url })).rejects.toThrow(InvalidRedisUrl);
});
