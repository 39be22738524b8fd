import type { AuditIdentity, AuditState, AuditTree } from '../../ports/event-log/audit.ts';
import type { SignAuditCheckpoints } from './sign-checkpoints.process.ts';

/** Continuous audit of the event log: whether history is unchanged, and who signs it. */
export interface RunningAudit {
  readonly tree: AuditTree;
  /** Null where no tree is kept. */
  readonly state: () => AuditState | null;
  /** The public key in the form that auditors keep; null if nobody signs or the key is not known yet. */
  readonly verifierKey: () => string | null;
  /** Null when nobody signs here. */
  readonly identity: AuditIdentity | null;
  readonly sequencer: SignAuditCheckpoints | null;
  /**
   * When the newest checkpoint was signed, Unix milliseconds; null where another process signs, or before the first.
   */
  readonly signedAtMs: () => number | null;
  /** Why writes are refused; null while healthy. */
  readonly readOnly: () => string | null;
  /** True once the whole history has been verified as unchanged. No money leaves before that. */
  readonly mayPay: () => boolean;
  close(): Promise<void>;
}
