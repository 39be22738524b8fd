import type { BookedCoin } from '../ledger.ts';
import type { Mode } from '../ids.ts';
import type { Network } from '../networks.ts';

/*
 * The storage format of the streams `ledger-adjustments-<mode>`: entries that people post by hand. What was posted is
 * never changed; another entry takes it back.
 */

/** What is posted; amounts are decimal strings, above zero a debit, below zero a credit, and add up to zero. */
export interface AdjustmentTerms {
  readonly adjustmentId: string;
  readonly mode: Mode;
  readonly network: Network;
  readonly coin: BookedCoin;
  readonly lines: readonly { readonly account: string; readonly amount: string }[];
  readonly reason: string;
  /** SHA-256 of the document that it rests on, in hex; the document itself is kept elsewhere. */
  readonly attachment: string | null;
  /** The adjustment that it takes back. */
  readonly reverses: string | null;
  readonly proposedBy: string;
}

export interface AdjustmentProposed {
  readonly type: 'AdjustmentProposed';
  readonly data: AdjustmentTerms & { readonly proposedAtSec: number };
}

/**
 * Two people other than who proposed it agreed, with keys that the signer checks; it repeats the terms, so that books
 * can be kept from it alone.
 */
export interface AdjustmentPosted {
  readonly type: 'AdjustmentPosted';
  readonly data: AdjustmentTerms & {
    readonly approvers: readonly string[];
    /** Id of the event that posted what this one takes back. */
    readonly reversesEvent: string | null;
    readonly postedAtSec: number;
  };
}

export interface AdjustmentRejected {
  readonly type: 'AdjustmentRejected';
  readonly data: { readonly adjustmentId: string; readonly actor: string; readonly rejectedAtSec: number };
}

export type AdjustmentEvent = AdjustmentProposed | AdjustmentPosted | AdjustmentRejected;
