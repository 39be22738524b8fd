import type { Registry } from 'prom-client';
import type { AuditState } from '../../ports/event-log/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import { gaugesIn } from './gauges.ts';

/** The state of the event log's audit. */
export interface AuditFacts {
  /** Null where no Merkle tree over the event log is kept. */
  readonly state: () => AuditState | null;
  /**
   * When the newest checkpoint was signed, Unix milliseconds; null where another process signs, or before the first
   * one.
   */
  readonly signedAtMs: () => number | null;
  /** Why the node is read-only; null when healthy. */
  readonly readOnly: () => string | null;
}

export interface ProjectionDrift {
  readonly projection: string;
  readonly rows: number;
}

const INTEGRITY = ['sound', 'checking', 'damaged'] as const;

export function reportAudit(registry: Registry, audit: AuditFacts, clock: Clock): void {
  const gauge = gaugesIn(registry);
  gauge('quittance_audit_checkpoint_age_seconds', 'Age of the newest signed checkpoint.', () => {
    const atMs = audit.signedAtMs();
    return atMs === null ? 0 : Math.max(0, clock.nowMs() - atMs) / 1000;
  });
  gauge(
    'quittance_audit_integrity',
    'Whether the event log is intact: 0 yes, 1 still being checked after a start, 2 no.',
    () => {
      const state = audit.state();
      return state && INTEGRITY.indexOf(audit.readOnly() === null ? state.integrity : 'damaged');
    },
  );
  gauge('quittance_read_only', '1 while nothing is written because the event log has changed.', () =>
    audit.readOnly() === null ? 0 : 1,
  );
}

/** Rows that differ from a replay, by projection, at the last comparison. */
export function reportDrift(registry: Registry, drift: () => readonly ProjectionDrift[]): void {
  gaugesIn(registry).by(
    'quittance_projection_drift_rows',
    'Rows of a projection that differed from a replay of the event log in the last comparison.',
    ['projection'],
    () => drift().map(({ projection, rows }) => [{ projection }, rows]),
  );
}
