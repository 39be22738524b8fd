import type { AuditIdentity, AuditState, AuditTree } from '../../ports/audit.ts';
import type { SignAuditCheckpoints } from './sign-checkpoints.process.ts';

/** The ledger under watch: whether it is what it was, and who signs that it is. */
export interface RunningAudit {
  readonly tree: AuditTree;
  /** Null where no tree is kept. */
  readonly state: () => AuditState | null;
  /** The public key as auditors keep it; null where nobody signs, or nobody has said so yet. */
  readonly verifierKey: () => string | null;
  /** Null when nobody signs here. */
  readonly identity: AuditIdentity | null;
  readonly sequencer: SignAuditCheckpoints | null;
  /** When the newest checkpoint was signed, Unix milliseconds; null where another process signs, or nobody yet. */
  readonly signedAtMs: () => number | null;
  /** Why nothing is written; null in health. */
  readonly readOnly: () => string | null;
  /** Money leaves only once the whole history was found to be what it was. */
  readonly mayPay: () => boolean;
  close(): Promise<void>;
}
