import { backup, DatabaseSync } from 'node:sqlite';
import { syncPath } from '../../runtime/files/sync-path.ts';
import { Anchor } from './event-log/anchor.ts';
import { eventsFile } from './event-log/event-schema.ts';
import { query, pragma } from './database.ts';

const PAGES_AT_A_TIME = 512;
/** Another connection may be checkpointing its write-ahead log. */
const BUSY_TIMEOUT_MS = 10_000;

/** Copies a database that others may be writing to into one file; durable and verified when this resolves. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    // Holds one snapshot: otherwise the copy would restart with every commit of another connection and never end under
    // load.
    source.exec('BEGIN');
    source.prepare('SELECT count(*) FROM sqlite_schema').get();
    await backup(source, to, { rate: PAGES_AT_A_TIME });
  } finally {
    source.close();
  }
  const copy = new DatabaseSync(to);
  try {
    copy.exec('PRAGMA journal_mode = DELETE');
    const fault = pragma(copy, 'integrity_check');
    if (fault !== 'ok') throw new Error(`the copy of ${from} is damaged: ${String(fault)}`);
  } finally {
    copy.close();
  }
  syncPath(to);
}

export interface EndOfLog {
  readonly events: number;
  /** The hash chain over all events, in hex. */
  readonly chain: string;
  /** Unix milliseconds; null in an empty event log. */
  readonly lastEventAtMs: number | null;
}

/** Where a copied log ends. Also writes the service's anchor beside it, so that a truncated log is noticed. */
export async function noteEndOfCopy(directory: string): Promise<EndOfLog> {
  const log = new DatabaseSync(eventsFile(directory), { readOnly: true });
  try {
    const last = query<{ position: number; chain: string; at_ms: number }>(
      log,
      'SELECT position, chain, at_ms FROM events ORDER BY position DESC LIMIT 1',
    ).get();
    if (!last) return { events: 0, chain: '', lastEventAtMs: null };
    const anchor = new Anchor(directory);
    anchor.note({ position: last.position, chain: last.chain });
    await anchor.close();
    return { events: last.position, chain: last.chain, lastEventAtMs: last.at_ms };
  } finally {
    log.close();
  }
}
