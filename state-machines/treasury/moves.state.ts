import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import type {
  MoveFailureReason,
  MoveKind,
  MoveRequested,
  MoveSequenceReserved,
  MoveSigned,
  OutflowFacts,
} from '../../src/domain/events/treasury-move-events.ts';

export type MoveReservation = MoveSequenceReserved['data'];

/** A transaction of a move, with what a replacement must repeat. */
export type SignedMove = MoveSigned & { readonly draft: TransactionDraft };

export interface Move {
  readonly kind: MoveKind;
  readonly terms: MoveRequested;
  /** Who agreed beside who proposed it, each once. */
  readonly approvers: readonly string[];
  /** Oldest first. */
  readonly signed: readonly SignedMove[];
}

/** How a return ended. */
export type ReturnOutcome =
  | { readonly paid: true; readonly txHash: string }
  | { readonly paid: false; readonly reason: MoveFailureReason };

export interface MovesContext {
  /** Moves that are not done, by id, oldest first. */
  readonly moves: Readonly<Record<string, Move>>;
  /** Outflows nobody ordered, by key: payouts stand still while there is one. */
  readonly unknownOutflows: Readonly<Record<string, OutflowFacts>>;
  /** Outflows that an operator explained, so that they are not reported again. */
  readonly knownOutflows: readonly string[];
  /** Every return ever requested, by id: one that was done is never begun again. Null while it is not done. */
  readonly returns: Readonly<Record<string, ReturnOutcome | null>>;
  /**
   * Transfers of native coin that are being paid back or were, by their key, with the move that does it: each is paid
   * back once.
   */
  readonly nativeReturns: Readonly<Record<string, string>>;
  /**
   * How often native coin was found at collection addresses: a look that read the books before another one wrote must
   * not write.
   */
  readonly nativeCoinFinds: number;
  /**
   * How often a comparison with the chain was recorded or an outflow explained: a look that began before that must
   * not write.
   */
  readonly differencesSettled: number;
  /** Every transfer of our addresses up to this block was compared with the ledger; null before the first time. */
  readonly reconciledThrough: number | null;
  /**
   * Transactions that fundings were booked with, by key with their block, where that was not final yet: it is read
   * again.
   */
  readonly bookedInflows: Readonly<Record<string, number>>;
  /**
   * Up to here it stays unknown which transfers brought some of what was booked, so none of them explains anything
   * later.
   */
  readonly unknownInflowsThrough: number;
}

export const initialMovesContext: MovesContext = {
  moves: {},
  unknownOutflows: {},
  knownOutflows: [],
  returns: {},
  nativeReturns: {},
  nativeCoinFinds: 0,
  differencesSettled: 0,
  reconciledThrough: null,
  bookedInflows: {},
  unknownInflowsThrough: 0,
};
