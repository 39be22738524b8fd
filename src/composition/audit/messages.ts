import type { LogAuditOptions } from '../../adapters/sqlite/event-log/log-audit.ts';
import type { AuditHead, AuditState } from '../../ports/event-log/audit.ts';

/* Messages between the service and the thread that reads the event log for the audit. */

export type AuditWorkerData = Omit<LogAuditOptions, 'inspect'>;

export type AuditQuestion =
  | { readonly kind: 'head'; readonly since: number }
  | { readonly kind: 'inclusion'; readonly leaf: number; readonly size: number }
  | { readonly kind: 'consistency'; readonly first: number; readonly second: number }
  | { readonly kind: 'stop' };

/** What each question is answered with; proofs in base64. */
export interface AuditAnswers {
  readonly head: AuditHead;
  readonly inclusion: string[];
  readonly consistency: string[];
  readonly stop: null;
}

export type ToAudit = AuditQuestion & { readonly id: number };

export type FromAudit =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly message: string; readonly isBehind: boolean }
  | { readonly kind: 'state'; readonly state: AuditState };
