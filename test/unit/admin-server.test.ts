import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { serveAdmin } from '../../src/cli/admin-server.ts';

it("the operator's socket makes its directory for its owner alone, where no store has made it", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-admin-'));
  const dataDir = join(folder, 'node', 'data');
  const server = await serveAdmin(dataDir, { 'say.hello': () => Promise.resolve('hello') });
  try {
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(await callAdmin(dataDir, 'say.hello', {})).toBe('hello');
  } finally {
    await new Promise((done) => server.close(done));
    rmSync(folder, { recursive: true });
  }
});
