import type { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';
import { openDatabase } from './database.ts';

export type CheckpointOrder = { readonly path: string } | 'close';

/** From so many pages the WAL is made to start over, for which appends wait a moment. It starts over by itself in quiet times. */
const RESTART_FROM_PAGES = 12_288;
/** How long the restart may wait for a writer to pause; it is tried again next time. */
const RESTART_TIMEOUT_MS = 100;

const databases = new Map<string, DatabaseSync>();
const port = parentPort!;

port.on('message', (order: CheckpointOrder) => {
  if (order === 'close') {
    for (const database of databases.values()) database.close();
    port.close();
  } else {
    checkpoint(order.path);
  }
});

function checkpoint(path: string): void {
  let database = databases.get(path);
  if (!database) {
    database = openDatabase(path, { synchronous: 'FULL', busyTimeoutMs: RESTART_TIMEOUT_MS });
    databases.set(path, database);
  }
  if (checkpointPassively(database) < RESTART_FROM_PAGES) return;
  // A second pass leaves the restart, which holds up the writer, next to nothing to carry.
  checkpointPassively(database);
  database.exec('PRAGMA wal_checkpoint(RESTART)');
}

/** Returns the pages in the WAL, carried over or not. */
function checkpointPassively(database: DatabaseSync): number {
  const { log } = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as { log: number };
  return log;
}
