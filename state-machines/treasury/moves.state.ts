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

/** A transaction of a move, with the draft that a replacement must repeat. */
export type SignedMove = MoveSigned & { readonly draft: TransactionDraft };

export interface Move {
  readonly kind: MoveKind;
  readonly terms: MoveRequested;
  /** Approvers besides the proposer, each once. */
  readonly approvers: readonly string[];
  /** Oldest first. */
  readonly signed: readonly SignedMove[];
}

/** How a return ended. */
export type ReturnOutcome =
  | { readonly paid: true; readonly txHash: string }
  | { readonly paid: false; readonly reason: MoveFailureReason };

export interface MovesContext {
  /** Unfinished moves by id, oldest first. */
  readonly moves: Readonly<Record<string, Move>>;
  /** Outflows that nobody ordered, by key. Payouts stop while there is one. */
  readonly unknownOutflows: Readonly<Record<string, OutflowFacts>>;
  /** Outflows explained by an operator, which are not reported again. */
  readonly knownOutflows: readonly string[];
  /** Every return ever requested, by id; null while it is not finished. A finished one is never begun again. */
  readonly returns: Readonly<Record<string, ReturnOutcome | null>>;
  /**
   * Transfers of native coin that are or were returned, by key, with the move that returns them. Each is returned once.
   */
  readonly nativeReturns: Readonly<Record<string, string>>;
  /**
   * How often native coin was found at collection addresses. A run that read the books before another one wrote must
   * not write.
   */
  readonly nativeCoinFinds: number;
  /** How often a comparison was recorded or an outflow explained. A run that began before must not write. */
  readonly differencesSettled: number;
  /** Every transfer of our addresses up to this block was compared with the event log; null before the first time. */
  readonly reconciledThrough: number | null;
  /** When that was, in Unix seconds; null before the first time. */
  readonly reconciledAtSec: number | null;
  /** Where the walk over all assigned addresses goes on; null: at the first one. */
  readonly addressesTo: string | null;
  /** Transactions behind booked fundings, by key with their block, if that was not final yet. They are read again. */
  readonly bookedInflows: Readonly<Record<string, number>>;
  /**
   * Up to this block it remains unknown which transfers brought some of what was booked, so none of them can explain
   * anything later.
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
  reconciledAtSec: null,
  addressesTo: null,
  bookedInflows: {},
  unknownInflowsThrough: 0,
};
