import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderObjects } from '../../src/adapters/node/folder-objects.ts';
import { s3Objects } from '../../src/adapters/s3/s3-objects.ts';
import type { ObjectStore } from '../../src/ports/event-log/object-store.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../support/s3-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder('objects');
let server: S3Server;
const bucket = (change: Partial<typeof S3_KEYS> = {}, name = 'payments', prefix = 'shop/'): ObjectStore =>
  s3Objects({ endpoint: `${server.url}/`, bucket: name, prefix, credentials: { ...S3_KEYS, ...change } });

beforeAll(async () => {
  server = await startS3Server('payments');
  mkdirSync(join(folder, 'own'));
});
afterAll(() => server.close());

describe.each([
  ['a folder', () => folderObjects(join(folder, 'own'))],
  ['a bucket', () => bucket()],
])('%s', (_, open) => {
  it('stores objects whole and lists names in order, however many there are', async () => {
    const objects = open();
    expect(await objects.list('')).toEqual([]);
    expect(await objects.get('log/1')).toBeNull();
    const names = ['log/10', 'log/2', 'a.json', 'log/1', 'log/3', 'log/4', 'log/5', 'salts/1'];
    for (const name of names) await objects.put(name, Buffer.from(`of ${name}\u0000\u00ff`));
    expect(await objects.list('log/')).toEqual(['log/1', 'log/10', 'log/2', 'log/3', 'log/4', 'log/5']);
    expect(await objects.list('')).toEqual(names.toSorted());
    for (const name of names) expect((await objects.get(name))?.toString()).toBe(`of ${name}\u0000\u00ff`);
    await objects.put('log/2', Buffer.from('another'));
    expect((await objects.get('log/2'))?.toString()).toBe('another');
  });

  it('does not replace what another wrote until it has read it', async () => {
    const [first, second] = [open(), open()];
    await first.put('shared/1', Buffer.from('of the first'));
    await expect(second.put('shared/1', Buffer.from('x'))).rejects.toThrow(
      /shared\/1.* is not what this service left there/,
    );
    await second.get('shared/1');
    await second.put('shared/1', Buffer.from('of the second'));
    await expect(first.put('shared/1', Buffer.from('x'))).rejects.toThrow(/is not what this service left there/);
    expect((await first.get('shared/1'))?.toString()).toBe('of the second');
    await first.put('shared/1', Buffer.from('of the first again'));
    expect((await second.get('shared/1'))?.toString()).toBe('of the first again');
  });
});

describe('a folder', () => {
  it('is readable for its owner alone', async () => {
    await folderObjects(folder).put('x/private', Buffer.from('1'));
    expect(statSync(join(folder, 'x/private')).mode & 0o077).toBe(0);
    expect(statSync(join(folder, 'x')).mode & 0o077).toBe(0);
  });

  it('that does not exist is not created, since its mount may be gone', async () => {
    const gone = join(folder, 'gone');
    await expect(folderObjects(gone).put('log/1', Buffer.from('1'))).rejects.toThrow(
      `${gone} does not exist: mount or make it`,
    );
    expect(existsSync(gone)).toBe(false);
  });
});

describe('a bucket', () => {
  it.each([
    ['of another secret', () => bucket({ secretAccessKey: 'guessed' }), '403 SignatureDoesNotMatch'],
    ['of another key', () => bucket({ accessKeyId: 'AKIDOTHER' }), '403 InvalidAccessKeyId'],
    ['of another region', () => bucket({ region: 'us-east-1' }), '403 AuthorizationHeaderMalformed'],
    ['that does not exist', () => bucket({}, 'other'), '404 NoSuchBucket'],
  ])('%s is refused by name, without the secret', async (_, open, answer) => {
    const objects = open();
    for (const outcome of await Promise.allSettled([
      objects.put('a', Buffer.from('1')),
      objects.get('a'),
      objects.list(''),
    ])) {
      const { message } = (outcome as { reason: Error }).reason;
      expect(message).toContain(answer);
      expect(message).not.toMatch(/guessed|secret/);
    }
  });

  it('of a server that ignores conditions is refused', async () => {
    server.ignoresConditions = true;
    await expect(bucket().put('unconditional', Buffer.from('1'))).rejects.toThrow(/ignores If-None-Match/);
    server.ignoresConditions = false;
  });

  it('does not list the empty objects that consoles show as folders', async () => {
    server.objects
      .set('marked/', Buffer.alloc(0))
      .set('marked/log/', Buffer.alloc(0))
      .set('marked/log/1', Buffer.from('1'));
    expect(await bucket({}, 'payments', 'marked/').list('')).toEqual(['log/1']);
  });

  it('that does not respond is named by its host', async () => {
    const objects = s3Objects({ endpoint: 'http://127.0.0.1:9', bucket: 'payments', prefix: '', credentials: S3_KEYS });
    await expect(objects.put('a', Buffer.from('1'))).rejects.toThrow(/127\.0\.0\.1:9 did not answer PUT/);
  });
});
