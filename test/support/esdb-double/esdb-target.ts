import { randomUUID } from 'node:crypto';
import { openEsdbEventStore } from '../../../src/adapters/esdb/event-store.ts';
import type { EventStore } from '../../../src/ports/event-log/event-store.ts';
import { EsdbDouble } from './esdb-double.ts';
import { serverName, serverVersion } from './server-version.ts';

const url = process.env['EVENTSTORE_URL'];

/** What the suite of this run talks to; part of the test names, so that no report can claim the other. */
export const TARGET = url
  ? `a REAL server at EVENTSTORE_URL, ${serverName(await serverVersion(url))}`
  : 'the wire-level DOUBLE, no real server';

/** An empty store: a double of its own, or a namespace of its own on the real server. */
export async function openOnTarget(): Promise<{ readonly store: EventStore; dispose(): Promise<void> }> {
  const double = url ? null : await EsdbDouble.start();
  const store = await openEsdbEventStore(
    double ? { connectionString: double.connectionString } : { connectionString: url!, namespace: `t${randomUUID()}:` },
  );
  return {
    store,
    dispose: async () => {
      await store.close();
      await double?.stop();
    },
  };
}
