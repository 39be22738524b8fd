import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const entry = resolve(import.meta.dirname, '../../../bin/quittance.mjs');

/** What Node tells about modules that are kept compiled. */
async function told(command: string): Promise<string> {
  const env = { PATH: process.env['PATH'], NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
  const { stdout, stderr } = await run(process.execPath, [entry, command, '--help'], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout + stderr;
}

test('the sandbox caches compiled modules; a service that may hold live keys runs only its sources', async () => {
  expect(await told('sandbox')).toContain('node_modules/.cache/compiled');
  expect(await told('serve')).not.toContain('[compile cache]');
});
