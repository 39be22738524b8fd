import type { Registry } from 'prom-client';
import type { Clock } from '../../ports/clock.ts';
import { gaugesIn } from './gauges.ts';

/** When each kind of backup was made last; null where there was none. */
export type LastBackups = Readonly<Partial<Record<'data' | 'signer', () => number | null>>>;

/**
 * Without a backup the age counts from the start of the process, so that a backup that is never made is noticed too.
 */
export function reportBackups(registry: Registry, lastMs: LastBackups, clock: Clock): void {
  const startedMs = clock.nowMs();
  const gauge = gaugesIn(registry);
  const kinds = Object.entries(lastMs);
  gauge.by(
    'quittance_backup_age_seconds',
    'Age of the newest backup that "quittance backup" made of the data directory or of the signer\'s; without one the age of the process.',
    ['kind'],
    () => kinds.map(([kind, atMs]) => [{ kind }, Math.max(0, clock.nowMs() - (atMs() ?? startedMs)) / 1000]),
  );
  gauge.by('quittance_backup_made', '1 once there was such a backup.', ['kind'], () =>
    kinds.map(([kind, atMs]) => [{ kind }, atMs() === null ? 0 : 1]),
  );
}

/** How much data would be lost with this machine. */
export function reportShipping(registry: Registry, ageSec: () => Promise<number>): void {
  gaugesIn(registry)(
    'quittance_log_shipping_age_seconds',
    'How long the oldest event not yet in LOG_SHIPPING_TO has waited; 0 if all are there.',
    ageSec,
  );
}
