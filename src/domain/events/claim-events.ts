import type { ClaimEvidence } from '../claims.ts';

/* A payer's claims, in the `session-<id>` stream. Approving one is a refund: `RefundRequested` names it. */

/**
 * The payer says that a deposit is theirs and who is to have its refund. A signature was verified before this was
 * written.
 */
export interface ClaimFiled {
  readonly type: 'ClaimFiled';
  readonly data: {
    readonly claimId: string;
    readonly depositKey: string;
    /** In the one form that the deposit's network has for it. */
    readonly payee: string;
    readonly evidence: ClaimEvidence;
    /** The payer's own words, sealed with the session's key; null when there are none. */
    readonly reason: string | null;
    readonly filedAtSec: number;
  };
}

/** Turned down, or withdrawn within its waiting time; then its refund fails with it. */
export interface ClaimRejected {
  readonly type: 'ClaimRejected';
  readonly data: {
    readonly claimId: string;
    /** The merchant's reason, sealed with the session's key; null when it gave none. */
    readonly reason: string | null;
    readonly rejectedAtSec: number;
  };
}

/** The claim that a refund approves. */
export interface RefundClaim {
  readonly claimId: string;
  /** Nothing is signed before; until shortly before it the claim can be withdrawn. */
  readonly payableFromSec: number;
}

export type ClaimEvent = ClaimFiled | ClaimRejected;
