import { messageOf } from '../../runtime/util/message-of.ts';
/*
 * Result codes from sqlite.org/rescode.html. The primary code is the low byte of the extended one that node:sqlite
 * reports.
 */
const SQLITE_ERROR = 1;
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;
const SQLITE_IOERR_SHMSIZE = 4874;

/** What a failed statement means for the store. A plain object, so that it can cross threads. */
export interface SqliteFault {
  /**
   * `no-room`: the disk is full; a retry may succeed. `busy`: another connection held the file for too long. `fatal`:
   * the state of the file is unknown (I/O error, failed sync, corruption, a bug).
   */
  readonly kind: 'no-room' | 'busy' | 'fatal';
  readonly message: string;
}

export function faultOf(error: unknown): SqliteFault {
  const message = messageOf(error);
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : -1;
  // The wal-index could not grow: reported as an I/O error, but nothing was written or synced.
  if ((code & 0xff) === SQLITE_FULL || code === SQLITE_IOERR_SHMSIZE) return { kind: 'no-room', message };
  if ((code & 0xff) === SQLITE_BUSY) return { kind: 'busy', message };
  return { kind: 'fatal', message: code < 0 ? message : `${message} (SQLite code ${code})` };
}

/** The file is unreadable, or lacks the tables with which it was created. */
export const isDamaged = (error: unknown): boolean =>
  isUnreadable(error) || Number((error as { errcode?: number }).errcode) === SQLITE_ERROR;

/** The file is damaged, or not a database. */
export function isUnreadable(error: unknown): boolean {
  const code = Number((error as { errcode?: number }).errcode) & 0xff;
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}
