import type { Config } from '../../config.ts';
import { AUDIT_STREAM } from '../../domain/values/streams.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import { namesKeys } from '../../settings/sealing-keys.ts';
import { sandboxNamespace } from '../../sandbox/master-key.ts';
import { keptMasterKey } from '../../runtime/files/kept-master-key.ts';
import { dataOf } from '../../runtime/commands/codec.ts';

/** Read-only access to the event log. */
export interface EventLogReader extends Pick<EventStore, 'readAll' | 'close'> {
  /** The number of events, or a lower bound. */
  expectedEvents(): Promise<number>;
}

/** Opens the event log of the settings, with or without a running service. */
export async function openEventLogReader(config: Config): Promise<EventLogReader> {
  if (config.EVENTSTORE_URL !== undefined) return openOnServers(config, config.EVENTSTORE_URL);
  const { openSqliteEventStoreReader } = await import('../../adapters/sqlite/event-log/event-store-reader.ts');
  const store = await openSqliteEventStoreReader({ dataDir: config.DATA_DIR });
  return {
    readAll: (options) => store.readAll(options),
    // The end of a damaged log may be unreadable; everything before it is still exported.
    expectedEvents: () => store.head().then(Number, () => 0),
    close: () => store.close(),
  };
}

async function openOnServers(config: Config, connectionString: string): Promise<EventLogReader> {
  const { openEsdbEventStore } = await import('../../adapters/esdb/event-store.ts');
  const sandboxKey = namesKeys(config) ? null : keptMasterKey(config.DATA_DIR);
  const namespace = sandboxKey === null ? '' : sandboxNamespace(sandboxKey);
  const store = await openEsdbEventStore({ connectionString, namespace });
  return {
    readAll: (options) => store.readAll(options),
    // Servers do not count events; the last signed size covers most of them.
    expectedEvents: async () => {
      const last = await store.lastOfStream(AUDIT_STREAM);
      return last ? dataOf(last, 'CheckpointSigned').size : 0;
    },
    close: () => store.close(),
  };
}
