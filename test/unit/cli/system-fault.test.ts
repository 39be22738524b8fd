import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemFault } from '../../../src/cli/system-fault.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeFolder } from '../../../src/runtime/files/make-folder.ts';

it('a port in use is named, with what to do', async () => {
  const taken = createServer();
  await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
  const { port } = taken.address() as AddressInfo;
  const error = await new Promise((done) => createServer().once('error', done).listen(port, '127.0.0.1'));
  taken.close();
  expect(systemFault(error)).toBe(
    `127.0.0.1:${port} is in use by another program: stop it, or choose another port (PORT, OPS_PORT, ADMIN_PORT; 0 takes a free one)`,
  );
});

it('a directory that cannot be made is named, with what to check', async () => {
  const folder = temporaryFolder('fault');
  writeFileSync(join(folder, 'file'), '');
  const error: unknown = await mkdir(join(folder, 'file', 'data')).catch((found: unknown) => found);
  expect(systemFault(error)).toContain(
    `${folder}/file/data is below something that is not a directory; check DATA_DIR`,
  );
});

it('a directory below /proc is refused at once', () => {
  let error: unknown;
  try {
    makeFolder('/proc/quittance/data');
  } catch (caught) {
    error = caught;
  }
  expect(systemFault(error)).toContain('/proc/quittance cannot be created: its file system holds no folders');
});

it.each([
  [{ code: 'EROFS', syscall: 'mkdir', path: '/data' }, '/data is on a read-only file system'],
  [{ code: 'EACCES', syscall: 'open', path: '/data/lock.db' }, '/data/lock.db cannot be written by this user'],
  [
    { code: 'ERR_SQLITE_ERROR', message: 'attempt to write a readonly database' },
    'a file of DATA_DIR cannot be written',
  ],
  [
    { code: 'EADDRNOTAVAIL', syscall: 'listen', address: '10.9.9.9', port: 80 },
    '10.9.9.9:80 is not an address of this machine: check HOST',
  ],
])('%o is a sentence', (fields, sentence) => {
  expect(systemFault(Object.assign(new Error('x'), fields))).toContain(sentence);
});

it('anything else keeps its stack', () => {
  expect(systemFault(new TypeError('x'))).toBeNull();
  expect(systemFault('text')).toBeNull();
  expect(systemFault(undefined)).toBeNull();
});
