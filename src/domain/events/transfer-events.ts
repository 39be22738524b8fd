import type { MerchantId, Mode, SessionId } from '../ids.ts';
import type { Sender } from '../senders.ts';
import type { DepositFacts } from './session-events.ts';

/*
 * The storage format of the streams `transfer-<mode>-<deposit key>`: what operators decided about one transfer that
 * pays no order. Whoever's decision is in the stream first holds; everything else is carried out after it. Times are
 * Unix seconds.
 */

/** Whose money it is as long as nobody decided. */
export type TransferOrigin =
  /** It came to the address of a session, and is in that session's stream and books. */
  | { readonly kind: 'session'; readonly sessionId: SessionId; readonly merchantId: MerchantId }
  /** It came to a collection address that the ledger gave to no session. */
  | { readonly kind: 'address' }
  /** It came to the treasury itself. */
  | { readonly kind: 'treasury' };

/** A final transfer to one of our addresses. */
export interface UnmatchedTransfer extends DepositFacts {
  readonly mode: Mode;
  readonly origin: TransferOrigin;
  /** Place in the wallet of the collection address that received it; null for the treasury. */
  readonly derivationIndex: number | null;
  /** Who paid; null when that could not be told. */
  readonly sender: Sender | null;
}

/** Who decided and why, in words that are kept forever. */
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
    /** From 1, one for each decision: what is carried out late is told from what was decided since. */
    readonly operation: number;
    readonly sessionId: SessionId;
    readonly requestedAtSec: number;
  };
}

/** The session has the money. */
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
    /** The move of the treasury that pays it back. */
    readonly moveId: string;
    /** The address that paid. */
    readonly toAddress: string;
    readonly requestedAtSec: number;
  };
}

/** The payout is in a final block: nothing can be decided any more. */
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

/** Detach, or cancel the return. */
export interface TransferUndoRequested {
  readonly type: 'TransferUndoRequested';
  readonly data: Decided & { readonly depositKey: string; readonly operation: number; readonly requestedAtSec: number };
}

/** Something depends on the decision by now: it stays. */
export interface TransferUndoRefused {
  readonly type: 'TransferUndoRefused';
  readonly data: {
    readonly depositKey: string;
    readonly operation: number;
    readonly because: string;
    readonly refusedAtSec: number;
  };
}

/** The money is where it was before the decision, and waits for another one. */
export interface TransferReopened {
  readonly type: 'TransferReopened';
  readonly data: {
    readonly depositKey: string;
    readonly operation: number;
    /** `undone`: by an operator. `refused`: a session would not have it so. `failed`: the payout. */
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
