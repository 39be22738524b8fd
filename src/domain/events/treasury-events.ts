import type { Mode, RefundId, SessionId } from '../values/ids.ts';
import type { Network } from '../networks/networks.ts';
import type { TreasuryMoveEvent } from './treasury-move-events.ts';
import type { JournalPlace, TransactionDraft, ReplacementReason } from './transaction-draft.ts';

/*
 * The storage format of the streams `treasury-<mode>-<network>`: which sequence number of the chain belongs to which
 * payout, and the signer's journal position when it signed. Amounts are decimal strings in units of the coin.
 */

/** The value of each nonce account of a treasury on Solana when it was last used for a signature, by account number. */
export type UsedNonces = Readonly<Record<number, string>>;

/** Written before anything is signed; the stream's expected revision assigns each sequence number to one payout. */
export interface PayoutSequenceReserved {
  readonly type: 'PayoutSequenceReserved';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly sessionId: SessionId;
    readonly refundId: RefundId;
    readonly legId: string;
    /** 1 for the leg's first transaction; higher for replacements. */
    readonly attempt: number;
    readonly fromAddress: string;
    readonly draft: TransactionDraft;
    /** Why the leg's previous transaction is replaced; null for the first. */
    readonly replaces: { readonly txHash: string; readonly why: ReplacementReason } | null;
    readonly reservedAtSec: number;
  };
}

/** The signer refused, so it never signed: the sequence number is free for the next payout. */
export interface PayoutSequenceReleased {
  readonly type: 'PayoutSequenceReleased';
  readonly data: {
    readonly legId: string;
    readonly attempt: number;
    readonly reason: string;
    readonly releasedAtSec: number;
  };
}

/** Written after the signed bytes are in the session's stream and before they are broadcast. */
export interface PayoutSequenceSigned {
  readonly type: 'PayoutSequenceSigned';
  readonly data: {
    readonly legId: string;
    readonly attempt: number;
    readonly txHash: string;
    readonly journal: JournalPlace;
  };
}

/**
 * Two approvers reconciled a restored event log with the signer's journal without a payment. `excluded` skips a
 * transaction that can never land, because another of the same move did; `begun_anew` continues from the journal's own
 * entry after a journal was lost.
 */
export interface JournalPlaceMoved {
  readonly type: 'JournalPlaceMoved';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly why: 'excluded' | 'begun_anew';
    readonly from: JournalPlace | null;
    readonly to: JournalPlace;
    /** What was skipped; null where a journal starts anew. */
    readonly passed: { readonly moveId: string; readonly txHash: string; readonly endedByTxHash: string } | null;
    readonly proposedBy: string;
    readonly approvers: readonly string[];
    readonly movedAtSec: number;
  };
}

export type TreasuryEvent =
  | PayoutSequenceReserved
  | PayoutSequenceReleased
  | PayoutSequenceSigned
  | JournalPlaceMoved
  | TreasuryMoveEvent;
