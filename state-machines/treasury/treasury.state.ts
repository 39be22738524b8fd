import type { RefundId, SessionId } from '../../src/domain/values/ids.ts';
import { initialMovesContext, type MovesContext, type MoveReservation } from './moves.state.ts';
import type { PayoutSequenceReserved, UsedNonces } from '../../src/domain/events/treasury-events.ts';
import type { JournalPlace, TransactionDraft } from '../../src/domain/events/transaction-draft.ts';

export type Reservation = PayoutSequenceReserved['data'];

/** A payout whose bytes exist. */
export interface SequenceTaken {
  readonly sessionId: SessionId;
  readonly refundId: RefundId;
  readonly legId: string;
  readonly attempt: number;
  /** Null where the chain has no numbered sequence. */
  readonly nonce: number | null;
  readonly txHash: string;
  /** A replacement must repeat it. */
  readonly draft: TransactionDraft;
}

export interface TreasuryContext extends MovesContext {
  /** The reservation whose bytes are not known yet. */
  readonly open: Reservation | MoveReservation | null;
  /** The next free nonce; null before the first payout and on chains without nonces. */
  readonly nextNonce: number | null;
  readonly usedNonces: UsedNonces;
  /** Place of the signer's journal at the last signature. */
  readonly journal: JournalPlace | null;
  /** The newest payouts, oldest first: as many as a chain may lose or hold in flight. */
  readonly recent: readonly SequenceTaken[];
}

export const initialTreasuryContext: TreasuryContext = {
  open: null,
  nextNonce: null,
  usedNonces: {},
  journal: null,
  recent: [],
  ...initialMovesContext,
};
