import type { MerchantId, Mode, SessionId } from '../values/ids.ts';
import type { Sender } from '../networks/senders.ts';
import type { DepositFacts } from './session-events.ts';

/*
 * The storage format of the streams `transfer-<mode>-<deposit key>`: the operators' decisions about one transfer that
 * pays no order. The first decision in the stream wins; everything else is carried out after it. Times are Unix
 * seconds.
 */

/** The owner of the money until somebody decides. */
export type TransferOrigin =
  /** It arrived at the address of a session, and is in that session's stream and books. */
  | { readonly kind: 'session'; readonly sessionId: SessionId; readonly merchantId: MerchantId }
  /** It arrived at a collection address that the event log assigned to no session. */
  | { readonly kind: 'address' }
  /** It arrived at the treasury itself. */
  | { readonly kind: 'treasury' };

/** A final transfer to one of our addresses. */
export interface UnmatchedTransfer extends DepositFacts {
  readonly mode: Mode;
  readonly origin: TransferOrigin;
  /** Derivation index of the collection address that received it; null for the treasury. */
  readonly derivationIndex: number | null;
  /** The payer; null when that could not be determined. */
  readonly sender: Sender | null;
}

/** Who decided and why, in words that are kept permanently. */
interface Decided {
  readonly actor: string;
  readonly reason: string;
}

/** The stream's first event, written with the first decision about money that a session already recorded. */
export interface TransferRecorded {
  readonly type: 'TransferRecorded';
  readonly data: UnmatchedTransfer & Decided & { readonly recordedAtSec: number };
}

export interface TransferAttachRequested {
  readonly type: 'TransferAttachRequested';
  readonly data: Decided & {
    readonly depositKey: string;
    /**
     * Numbers the decisions from 1: a late step is recognised by the number of a decision that has since been replaced.
     */
    readonly operation: number;
    readonly sessionId: SessionId;
    readonly requestedAtSec: number;
  };
}

/** The session receives the money. */
export interface TransferAttached {
  readonly type: 'TransferAttached';
  readonly data: {
    readonly depositKey: string;
    readonly operation: number;
    readonly sessionId: SessionId;
    readonly attachedAtSec: number;
  };
}

export interface TransferReturnRequested {
  readonly type: 'TransferReturnRequested';
  readonly data: Decided & {
    readonly depositKey: string;
    readonly operation: number;
    /** The treasury move that pays it back. */
    readonly moveId: string;
    /** The paying address. */
    readonly toAddress: string;
    readonly requestedAtSec: number;
  };
}

/** The payout is in a final block: no further decision is possible. */
export interface TransferReturned {
  readonly type: 'TransferReturned';
  readonly data: {
    readonly depositKey: string;
    readonly operation: number;
    readonly moveId: string;
    readonly txHash: string;
    readonly returnedAtSec: number;
  };
}

/** Detaches the transfer, or cancels its return. */
export interface TransferUndoRequested {
  readonly type: 'TransferUndoRequested';
  readonly data: Decided & { readonly depositKey: string; readonly operation: number; readonly requestedAtSec: number };
}

/** Something depends on the decision by now, so it stands. */
export interface TransferUndoRefused {
  readonly type: 'TransferUndoRefused';
  readonly data: {
    readonly depositKey: string;
    readonly operation: number;
    readonly because: string;
    readonly refusedAtSec: number;
  };
}

/** The money is where it was before the decision, and a new decision is possible. */
export interface TransferReopened {
  readonly type: 'TransferReopened';
  readonly data: {
    readonly depositKey: string;
    readonly operation: number;
    /** `undone`: by an operator. `refused`: a session rejected it. `failed`: the payout failed. */
    readonly why: 'undone' | 'refused' | 'failed';
    readonly because: string;
    readonly reopenedAtSec: number;
  };
}

export type TransferEvent =
  | TransferRecorded
  | TransferAttachRequested
  | TransferAttached
  | TransferReturnRequested
  | TransferReturned
  | TransferUndoRequested
  | TransferUndoRefused
  | TransferReopened;
