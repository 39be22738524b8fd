import { Gauge, type Registry } from 'prom-client';
import type { AuditState } from '../ports/audit.ts';
import type { Clock } from '../ports/clock.ts';

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
  const registers = [registry];
  new Gauge({
    name: 'quittance_audit_checkpoint_age_seconds',
    help: 'Age of the newest signed checkpoint.',
    registers,
    collect() {
      const atMs = audit.signedAtMs();
      if (atMs === null) this.reset();
      else this.set(Math.max(0, clock.nowMs() - atMs) / 1000);
    },
  });
  new Gauge({
    name: 'quittance_audit_integrity',
    help: 'Whether the event log is intact: 0 yes, 1 still being checked after a start, 2 no.',
    registers,
    collect() {
      const state = audit.state();
      if (state) this.set(INTEGRITY.indexOf(audit.readOnly() === null ? state.integrity : 'damaged'));
    },
  });
  new Gauge({
    name: 'quittance_read_only',
    help: '1 while nothing is written because the event log has changed.',
    registers,
    collect() {
      this.set(audit.readOnly() === null ? 0 : 1);
    },
  });
}

/** Rows that differ from a replay, by projection, at the last comparison. */
export function reportDrift(registry: Registry, drift: () => readonly ProjectionDrift[]): void {
  new Gauge({
    name: 'quittance_projection_drift_rows',
    help: 'Rows of a projection that differed from a replay of the event log in the last comparison.',
    labelNames: ['projection'],
    registers: [registry],
    collect() {
      for (const { projection, rows } of drift()) this.set({ projection }, rows);
    },
  });
}
