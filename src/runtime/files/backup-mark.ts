import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file in a directory that records its last backup. */
export const LAST_BACKUP = 'last-backup.json';

/** Unix milliseconds; null where there was none, or the file cannot be read. */
export function backedUpAtMs(directory: string): number | null {
  try {
    const { made_at: madeAt } = JSON.parse(readFileSync(join(directory, LAST_BACKUP), 'utf8')) as { made_at?: unknown };
    const atMs = typeof madeAt === 'string' ? Date.parse(madeAt) : NaN;
    return Number.isNaN(atMs) ? null : atMs;
  } catch {
    return null;
  }
}
