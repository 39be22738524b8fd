import type { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';
import type { Tail } from './append-job.ts';
import { openDatabase, query } from '../database.ts';
import { EventReader } from './event-reader.ts';
import { eventsFile } from './event-schema.ts';
import { faultOf, type SqliteFault } from '../fault.ts';
import { type StreamName, StreamNamesFile } from './stream-names-file.ts';
import { threadData } from '../../../runtime/util/thread-data.ts';
import { must } from '../../../domain/values/must.ts';

export type HousekeepingOrder =
  | { readonly kind: 'checkpoint'; readonly path: string }
  /** Names separated by line feeds, with one number each. */
  | { readonly kind: 'index'; readonly names: string; readonly numbers: Float64Array; readonly through: Tail }
  | { readonly kind: 'close' };

/** The reply to an `index` order. */
export interface HousekeepingReply {
  readonly fault: SqliteFault | null;
}

/**
 * From this many pages on the WAL is restarted, for which appends wait briefly; in quiet times it restarts by itself. A
 * short WAL is constantly overwritten, which a disk syncs faster than a growing file.
 */
const RESTART_FROM_PAGES = 4_096;
/** How long the restart may wait for a pause of the writer; otherwise it is retried later. */
const RESTART_TIMEOUT_MS = 100;

const { dataDir } = threadData<{ dataDir: string }>();
const port = must(parentPort);
const databases = new Map<string, DatabaseSync>();
let streamNames: StreamNamesFile | null = null;

port.on('message', (order: HousekeepingOrder) => {
  switch (order.kind) {
    case 'checkpoint':
      return checkpoint(order.path);
    case 'index':
      return port.postMessage({
        fault: index(namesOf(order.names, order.numbers), order.through),
      } satisfies HousekeepingReply);
    case 'close':
      for (const database of databases.values()) database.close();
      streamNames?.close();
      return port.close();
  }
});

const namesOf = (names: string, numbers: Float64Array): StreamName[] =>
  names.split('\n').map((name, at) => ({ name, number: numbers[at] ?? 0 }));

function index(names: readonly StreamName[], through: Tail): SqliteFault | null {
  try {
    if (streamNames === null) {
      streamNames = StreamNamesFile.open(dataDir, streamAt);
      streamNames.checkpointByItself();
    }
    streamNames.add(names, through);
    return null;
  } catch (error) {
    return faultOf(error);
  }
}

/** Called when two names share a key, which almost never happens. */
function streamAt(position: number): string | null {
  const database = openDatabase(eventsFile(dataDir), { synchronous: 'FULL', readOnly: true });
  try {
    return new EventReader(database).streamAt(position);
  } finally {
    database.close();
  }
}

/** A failed checkpoint only lets the WAL grow; the writer will meet the cause itself. */
function checkpoint(path: string): void {
  try {
    const database =
      databases.get(path) ?? openDatabase(path, { synchronous: 'FULL', busyTimeoutMs: RESTART_TIMEOUT_MS });
    databases.set(path, database);
    if (checkpointPassively(database) < RESTART_FROM_PAGES) return;
    // After a second pass the restart, which blocks the writer, has almost nothing left to copy.
    checkpointPassively(database);
    database.exec('PRAGMA wal_checkpoint(RESTART)');
  } catch (error) {
    if (faultOf(error).kind === 'fatal') databases.delete(path);
  }
}

/** Returns the number of pages in the WAL, checkpointed or not. */
function checkpointPassively(database: DatabaseSync): number {
  return must(query<{ log: number }>(database, 'PRAGMA wal_checkpoint(PASSIVE)').get()).log;
}
