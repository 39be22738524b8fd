import { SpilledMap } from '../../adapters/sqlite/read-model/spilled-map.ts';
import { createTableFile } from '../../adapters/sqlite/table-file.ts';
import { exportBooks, exportEventLog } from '../../cli/audit.ts';
import type { Config } from '../../config.ts';
import { openEventLogReader, type EventLogReader } from './event-log-reader.ts';

/* Exports made from the event log alone, with or without a running service. */

export const exportEventLogFile = (config: Config, path: string | undefined): Promise<number> =>
  reading(config, async (store) => exportEventLog(store, await store.expectedEvents(), path));

export const exportBooksFile = (config: Config, path: string): Promise<number> =>
  reading(config, async (store) =>
    exportBooks(store, await store.expectedEvents(), path, { createTableFile, memory: () => new SpilledMap() }),
  );

async function reading<Result>(config: Config, task: (store: EventLogReader) => Promise<Result>): Promise<Result> {
  const store = await openEventLogReader(config);
  try {
    return await task(store);
  } finally {
    await store.close();
  }
}
