import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteEventStore } from '../../src/adapters/sqlite/sqlite-event-store.ts';
import { eventStoreContract } from './event-store.contract.ts';

eventStoreContract('the embedded store', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'quittance-store-'));
  const store = await openSqliteEventStore({ dataDir });
  return {
    store,
    dispose: async () => {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
});
