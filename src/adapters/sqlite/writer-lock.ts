import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { faultOf } from './fault.ts';

/** Another process already writes to the data directory. */
export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse';
}

export interface WriterLock {
  release(): void;
}

/**
 * Makes this process the only writer of the data directory: an exclusive lock on `lock.db`, held until `release` or the
 * end of the process, however it ends (the system frees it). Throws `DataDirInUse`.
 */
export function acquireWriterLock(dataDir: string): WriterLock {
  const pidFile = join(dataDir, 'lock.pid');
  const database = new DatabaseSync(join(dataDir, 'lock.db'), { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (faultOf(error).kind !== 'busy') throw error;
    throw new DataDirInUse(
      `the data directory ${dataDir} is in use by ${holder(pidFile)}; only one process may write to it`,
    );
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return { release: () => database.close() };
}

/** Whether a process holds the lock, without taking it. */
export function isWriterLocked(dataDir: string): boolean {
  const file = join(dataDir, 'lock.db');
  if (!existsSync(file)) return false;
  const database = new DatabaseSync(file, { readOnly: true, timeout: 0 });
  try {
    database.prepare('SELECT name FROM sqlite_master').all();
    return false;
  } catch (error) {
    if (faultOf(error).kind !== 'busy') throw error;
    return true;
  } finally {
    database.close();
  }
}

function holder(pidFile: string): string {
  try {
    return `process ${readFileSync(pidFile, 'utf8').trim()}`;
  } catch {
    return 'another process';
  }
}
