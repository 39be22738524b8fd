import { existsSync } from 'node:fs';
import type { EventStore, ReadAllOptions } from '../../../ports/event-log/event-store.ts';
import { openDatabase } from '../database.ts';
import { EventReader, readAll, type TailCheck } from './event-reader.ts';
import { eventsFile } from './event-schema.ts';
import { parsePosition, toPosition } from './position.ts';
import { StreamNamesFile } from './stream-names-file.ts';

/** Reads beside a running writer, or without one. */
export interface SqliteEventStoreReader extends Pick<
  EventStore,
  'readStream' | 'lastOfStream' | 'readAll' | 'head' | 'close'
> {
  /** Verifies hashes and chain of the last `count` events. */
  verifyTail(count: number): TailCheck;
}

/**
 * The end of the log. If its last page is unreadable, an estimate from the requested range, since positions are dense.
 */
function endFor(reader: EventReader, { after, limit }: ReadAllOptions): number {
  try {
    return reader.tail().position;
  } catch {
    return parsePosition(after) + limit;
  }
}

/** Opens the log read-only, without the writer lock and whatever its state. Throws if there is none. */
export async function openSqliteEventStoreReader({
  dataDir,
}: {
  readonly dataDir: string;
}): Promise<SqliteEventStoreReader> {
  const path = eventsFile(dataDir);
  if (!existsSync(path)) throw new Error(`there is no event log in ${dataDir}`);
  const database = openDatabase(path, { synchronous: 'FULL', readOnly: true });
  const reader = new EventReader(database);
  const names = StreamNamesFile.openToRead(dataDir, (number) => reader.streamAt(number));
  // The names file lags slightly behind the log; missing names are searched in the rest.
  const numberOf = (stream: string): number | null => {
    // Read first: a name that enters the file during the search is then found in the rest.
    const through = names?.progress().position ?? 0;
    return names?.numberOf(stream) ?? reader.streamNumberAfter(through, stream);
  };
  return {
    readStream: async (stream, range = {}) => {
      const number = numberOf(stream);
      return number === null ? [] : reader.stream(number, range.from ?? 0, range.limit ?? -1);
    },
    lastOfStream: async (stream) => {
      const number = numberOf(stream);
      return number === null ? null : reader.lastOfStream(number);
    },
    readAll: async (options) => readAll(reader, options, endFor(reader, options)),
    head: async () => toPosition(reader.tail().position),
    verifyTail: (count) => reader.verifyTail(count),
    close: async () => {
      names?.close();
      database.close();
    },
  };
}
