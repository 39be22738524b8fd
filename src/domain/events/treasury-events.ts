import type { Mode } from '../ids.ts';
import type { Network } from '../networks.ts';
import type { TreasuryMoveEvent } from './treasury-move-events.ts';
import type { JournalPlace, TransactionDraft, ReplacementReason } from './transaction-draft.ts';

/*
 * The storage format of the streams `treasury-<mode>-<network>`: which sequence of the chain belongs to which payout,
 * and what the signer's journal said when it signed. Amounts are decimal strings in units of the coin.
 */

/**
 * The value that each nonce account of a treasury on Solana had when something was signed with it last, by the
 * account's number.
 */
export type UsedNonces = Readonly<Record<number, string>>;

/** Written before anything is signed; the stream's expected revision makes a sequence belong to one payout. */
export interface PayoutSequenceReserved {
  readonly type: 'PayoutSequenceReserved';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly sessionId: string;
    readonly refundId: string;
    readonly legId: string;
    /** 1 for the first transaction of the leg; more for replacements. */
    readonly attempt: number;
    readonly fromAddress: string;
    readonly draft: TransactionDraft;
    /** Why an earlier transaction of the leg is replaced; null for the first. */
    readonly replaces: { readonly txHash: string; readonly why: ReplacementReason } | null;
    readonly reservedAtSec: number;
  };
}

/** The signer refused, and so never signed: the sequence is free for the next payout. */
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
 * Two approvers brought a restored ledger and the signer's journal together without a payment: `excluded` passes over a
 * transaction that can never land, since another of the same move did; `begun_anew` goes on from the journal's own
 * entry, after a journal that is lost.
 */
export interface JournalPlaceMoved {
  readonly type: 'JournalPlaceMoved';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly why: 'excluded' | 'begun_anew';
    readonly from: JournalPlace | null;
    readonly to: JournalPlace;
    /** What was passed over; null where a journal begins anew. */
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
