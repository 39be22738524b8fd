import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it, vi } from 'vitest';
import { threadEnvironment } from '../../../../src/runtime/util/thread-environment.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

afterEach(() => void vi.unstubAllEnvs());

const REPORT = `
  const { getCompileCacheDir } = require('node:module');
  require('node:worker_threads').parentPort.postMessage({ compiled: getCompileCacheDir(), settings: { ...process.env } });
`;
async function reportOfThread(): Promise<unknown> {
  const worker = new Worker(REPORT, { eval: true, env: threadEnvironment() });
  const [report] = await once(worker, 'message');
  await worker.terminate();
  return report;
}

it('lets a thread read modules from where its process keeps them compiled, and tells it nothing else', async () => {
  const folder = temporaryFolder('compiled');
  vi.stubEnv('NODE_COMPILE_CACHE', folder);
  vi.stubEnv('MASTER_KEY', 'a secret');
  expect(await reportOfThread()).toEqual({
    compiled: expect.stringContaining(folder),
    settings: { NODE_COMPILE_CACHE: folder },
  });
});

it('tells a thread nothing where a process runs from its sources alone', async () => {
  vi.stubEnv('NODE_COMPILE_CACHE', undefined);
  vi.stubEnv('MASTER_KEY', 'a secret');
  expect(await reportOfThread()).toEqual({ compiled: undefined, settings: {} });
});
