import type { BookedCoin } from '../money/ledger.ts';
import type { Mode } from '../values/ids.ts';
import type { Network } from '../networks/networks.ts';

/*
 * The storage format of the streams `ledger-adjustments-<mode>`: entries posted by hand. A posted entry never changes;
 * another entry reverses it.
 */

/**
 * The entry to be posted. Amounts are decimal strings: positive is a debit, negative a credit, and they add up to zero.
 */
export interface AdjustmentTerms {
  readonly adjustmentId: string;
  readonly mode: Mode;
  readonly network: Network;
  readonly coin: BookedCoin;
  readonly lines: readonly { readonly account: string; readonly amount: string }[];
  readonly reason: string;
  /** SHA-256 of the supporting document, in hex; the document itself is kept elsewhere. */
  readonly attachment: string | null;
  /** The adjustment that this one reverses. */
  readonly reverses: string | null;
  readonly proposedBy: string;
}

export interface AdjustmentProposed {
  readonly type: 'AdjustmentProposed';
  readonly data: AdjustmentTerms & { readonly proposedAtSec: number };
}

/**
 * Two people other than the proposer approved, with keys that the signer checks. Repeats the terms, so that books can
 * be kept from this event alone.
 */
export interface AdjustmentPosted {
  readonly type: 'AdjustmentPosted';
  readonly data: AdjustmentTerms & {
    readonly approvers: readonly string[];
    /** Id of the event that posted the reversed adjustment. */
    readonly reversesEvent: string | null;
    readonly postedAtSec: number;
  };
}

export interface AdjustmentRejected {
  readonly type: 'AdjustmentRejected';
  readonly data: { readonly adjustmentId: string; readonly actor: string; readonly rejectedAtSec: number };
}

export type AdjustmentEvent = AdjustmentProposed | AdjustmentPosted | AdjustmentRejected;
