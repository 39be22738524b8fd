import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { isDefinedBy, openDatabase, pragma } from '../database.ts';

const SCHEMA_VERSION = 1;

/** Chain value before the first event. */
export const CHAIN_GENESIS = '0'.repeat(64);

/*
 * `events` is keyed by position and indexed by stream number, so appends touch only the end of both; the random stream
 * names are indexed elsewhere (`stream-names-file.ts`). A stream's number is the position of its first event. `chain`
 * is the SHA-256 (hex) of the previous event's chain text followed by this event's hash text. `seal` is
 * that of a commit (`log-seals.ts`), on its last event. Only rows of `command_nonces` are ever removed: it is the replay
 * window of signed requests, committed with the events of their commands.
 */
const SCHEMA = `
  CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream_number INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    stream TEXT NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    version INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    hash TEXT NOT NULL,
    chain TEXT NOT NULL,
    seal BLOB
  ) STRICT;

  CREATE UNIQUE INDEX events_by_stream ON events (stream_number, revision);

  CREATE TABLE command_nonces (
    number INTEGER PRIMARY KEY,
    digest BLOB NOT NULL,
    expires_at_sec INTEGER NOT NULL
  ) STRICT;

  CREATE TRIGGER events_are_never_updated BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
  CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
`;

export const EVENTS_FILE = 'events.db';

export const eventsFile = (dataDir: string): string => join(dataDir, EVENTS_FILE);

/**
 * Opens the log for writing and creates its tables if it is new. The caller holds the writer lock. Throws if a newer
 * build wrote it.
 */
export function openEventsDatabase(dataDir: string): DatabaseSync {
  const database = openDatabase(eventsFile(dataDir), { synchronous: 'FULL', pageSize: 8192, cacheSize: 32_768 });
  // INSERT OR REPLACE fires delete triggers only with this pragma.
  database.exec('PRAGMA recursive_triggers = ON');
  prepareSchema(database);
  return database;
}

function prepareSchema(database: DatabaseSync): void {
  const version = pragma(database, 'user_version');
  if (version === SCHEMA_VERSION) return;
  if (version !== 0)
    throw new Error(`events.db has schema version ${String(version)}; this build knows ${SCHEMA_VERSION}`);
  database.exec(`BEGIN IMMEDIATE; ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`);
}

/** Table definitions in the file that differ from this build's; null if none does. */
export const faultOfSchema = (database: DatabaseSync): string | null =>
  isDefinedBy(database, SCHEMA) ? null : 'the definitions of its tables are not those of this build';
