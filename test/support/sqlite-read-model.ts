import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteReadModel } from '../../src/adapters/sqlite/read-model/read-model.ts';
import type { OpenedReadModel } from '../contract/read-model.contract.ts';

/** An empty SQLite read model in a directory of its own. */
export async function openTemporaryReadModel(): Promise<OpenedReadModel & { readonly dataDir: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'quittance-read-model-'));
  const first = await openSqliteReadModel({ dataDir });
  let current = first;
  return {
    model: first,
    dataDir,
    async reopen() {
      await current.close();
      current = await openSqliteReadModel({ dataDir });
      return current;
    },
    async dispose() {
      await current.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
