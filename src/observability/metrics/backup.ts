import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import type { Clock } from '../../ports/clock.ts';
import { gaugesIn } from './gauges.ts';

/** A file in the data directory that records the last backup. */
export const LAST_BACKUP = 'last-backup.json';

/**
 * Without a backup the age counts from the start of the process, so that a backup that is never made is noticed too.
 */
export function reportBackup(registry: Registry, dataDir: string, clock: Clock): void {
  const startedMs = clock.nowMs();
  const gauge = gaugesIn(registry);
  const lastMs = (): number | null => madeAtMs(join(dataDir, LAST_BACKUP));
  gauge.by(
    'quittance_backup_age_seconds',
    'Age of the newest backup that "quittance backup" made of the data directory; without one the age of the process.',
    ['kind'],
    () => [[{ kind: 'data' }, Math.max(0, clock.nowMs() - (lastMs() ?? startedMs)) / 1000]],
  );
  gauge('quittance_backup_made', '1 once there was a backup of the data directory.', () => (lastMs() === null ? 0 : 1));
}

/** How much data would be lost with this machine. */
export function reportShipping(registry: Registry, ageSec: () => Promise<number>): void {
  gaugesIn(registry)(
    'quittance_log_shipping_age_seconds',
    'How long the oldest event not yet in LOG_SHIPPING_TO has waited; 0 if all are there.',
    ageSec,
  );
}

/** Null where there was none, or the file cannot be read. */
function madeAtMs(file: string): number | null {
  try {
    const { made_at: madeAt } = JSON.parse(readFileSync(file, 'utf8')) as { made_at?: unknown };
    const atMs = typeof madeAt === 'string' ? Date.parse(madeAt) : NaN;
    return Number.isNaN(atMs) ? null : atMs;
  } catch {
    return null;
  }
}
