import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { callAdmin } from '../../../../src/cli/admin-client.ts';
import { serveAdmin } from '../../../../src/operator/server/socket-server.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

/** Serves one command in a new directory for as long as the test needs it. */
async function served(test: (dataDir: string) => Promise<void>): Promise<void> {
  const folder = temporaryFolder('admin');
  const dataDir = join(folder, 'node', 'data');
  const server = await serveAdmin(dataDir, { 'say.hello': () => Promise.resolve('hello') }, {});
  try {
    await test(dataDir);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

it("the operator's socket creates its directory for its owner only, if no store has created it", () =>
  served(async (dataDir) => {
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(await callAdmin(dataDir, 'say.hello', {})).toBe('hello');
  }));

it.each(['constructor', 'toString', 'hasOwnProperty', '__proto__'])(
  'a name that every object has is no command: %s',
  (name) =>
    served(async (dataDir) => {
      await expect(callAdmin(dataDir, name, {})).rejects.toThrow('unknown command');
      expect(await callAdmin(dataDir, 'say.hello', {})).toBe('hello');
    }),
);
