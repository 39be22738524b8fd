import type { ClaimEvidence } from '../claims.ts';

/* A payer's claims, in the `session-<id>` stream. An approval is a refund: `RefundRequested` names the claim. */

/**
 * The payer claims a deposit and names the address for its refund. A signature is verified before this event is
 * written.
 */
export interface ClaimFiled {
  readonly type: 'ClaimFiled';
  readonly data: {
    readonly claimId: string;
    readonly depositKey: string;
    /** In the canonical form of the deposit's network. */
    readonly payee: string;
    readonly evidence: ClaimEvidence;
    /** The payer's own words, sealed with the session's key; null when there are none. */
    readonly reason: string | null;
    readonly filedAtSec: number;
  };
}

/**
 * The merchant rejected the claim, or an approved claim was withdrawn within its waiting time; then its refund fails
 * too.
 */
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
  /** Nothing is signed before this time; until shortly before it the claim can be withdrawn. */
  readonly payableFromSec: number;
}

export type ClaimEvent = ClaimFiled | ClaimRejected;
