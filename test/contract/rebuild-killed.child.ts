import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { openProjectionThread } from '../../src/look-ups/thread.ts';
import { PROJECTIONS } from '../../src/look-ups/projections.ts';

/* Serves a data directory and rebuilds everything, again and again, until it is killed. */

const dataDir = process.argv[2]!;
const store = await openSqliteEventStore({ dataDir });
const thread = await openProjectionThread(dataDir);
await thread.start(store, { onSwitched: () => process.send!('switched') });
for (;;) {
  await thread.ready();
  await thread.rebuild(PROJECTIONS.map(({ name }) => name));
  process.send!('rebuilding');
}
