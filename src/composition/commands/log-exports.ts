import { SpilledMap } from '../../adapters/sqlite/read-model/spilled-map.ts';
import { createTableFile } from '../../adapters/sqlite/table-file.ts';
import { exportBooks, exportLedger } from '../../cli/audit.ts';
import type { Config } from '../../config.ts';
import { openLedgerReader, type LedgerReader } from './event-log-reader.ts';

/* Exports made from the event log alone, with or without a running service. */

export const exportLedgerFile = (config: Config, path: string | undefined): Promise<number> =>
  reading(config, async (store) => exportLedger(store, await store.expectedEvents(), path));

export const exportBooksFile = (config: Config, path: string): Promise<number> =>
  reading(config, async (store) =>
    exportBooks(store, await store.expectedEvents(), path, { createTableFile, memory: () => new SpilledMap() }),
  );

export async function reading<Result>(config: Config, task: (store: LedgerReader) => Promise<Result>): Promise<Result> {
  const store = await openLedgerReader(config);
  try {
    return await task(store);
  } finally {
    await store.close();
  }
}
