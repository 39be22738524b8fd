import type { MoveFailureReason } from '../../domain/events/treasury-move-events.ts';
import type { JournalPlace, TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type {
  LandedTransaction,
  OutgoingTransaction,
  PreCheck,
  Reserved,
  SentTransaction,
  WaitReason,
} from '../../ports/outgoing/transaction.ts';
import type { MoveReservation } from '../../../state-machines/treasury/moves.state.ts';
import type { TreasuryContext } from '../../../state-machines/treasury/treasury.state.ts';
import type { Failure } from './failure.ts';
import type { RoundFaults } from './faults.ts';

/** Identifies an outgoing transaction, also for people and logs. */
export interface OutgoingRef {
  /** Id of the order. */
  readonly id: string;
  readonly names: object;
  readonly logged: Readonly<Record<string, string>>;
}

/** A transaction whose signed bytes exist. */
export interface SignedTransaction extends SentTransaction {
  readonly attempt: number;
  readonly signedAtSec: number;
}

/** An order to pay, with everything that was signed for it. */
export interface Outgoing {
  readonly ref: OutgoingRef;
  readonly order: OutgoingTransaction;
  /** Oldest first. At most one of them can land. */
  readonly signed: readonly SignedTransaction[];
}

export const isSigned = ({ signed }: Outgoing): boolean => signed.length > 0;

/** A place in the account's sequence, reserved before anything is signed. */
export type Sequence = Pick<MoveReservation, 'attempt' | 'fromAddress' | 'draft' | 'replaces' | 'reservedAtSec'>;

export type NewlySigned = SignedTransaction & { readonly journal: JournalPlace };

/** Whether the order may begin, according to the rules of its kind. */
export type Precondition =
  | { readonly kind: 'ready' }
  | { readonly kind: 'wait'; readonly reason: WaitReason; readonly detail: string }
  | { readonly kind: 'fail'; readonly reason: MoveFailureReason };

/** Money to be paid back that is not final, or no longer is. */
export interface Missing {
  /** It is expected to become final. */
  readonly isAwaited: boolean;
  /** When it last left the chain, in Unix seconds, if known. */
  readonly goneSinceSec: number | null;
  /** Why nothing is paid in the meantime, for people. */
  readonly detail: string;
}

/** Receives what the records reveal while they are read. */
export interface OpenListener<Ref> {
  readonly ended: (ref: Ref) => void;
  /** One unreadable order must not block the others. */
  readonly unreadable: (ref: Ref, error: unknown) => void;
}

/**
 * Where some kinds of outgoing transactions are recorded, with the rules specific to them. All methods that write are
 * safe to repeat. They throw when a signed or landed transaction is refused, because records and chain would then
 * disagree.
 */
export interface OutgoingRecords<Item extends Outgoing> {
  readonly words: { readonly one: string; readonly all: string };
  /** Whether an order is done when its transaction landed, or only when that is final. */
  readonly doneOnce: 'landed' | 'final';
  /**
   * The fraction of a deposit's grace period that a newly started process waits for its watchers to see the deposit
   * again.
   */
  readonly graceAfterStart: number;

  /** Unfinished orders, oldest first. */
  open(listener: OpenListener<Item['ref']>): Promise<readonly Item[]>;
  find(ref: Item['ref']): Promise<Item | null>;
  /** The order that is reserved and not signed yet. */
  reservation(context: TreasuryContext): { readonly ref: Item['ref']; readonly sequence: Sequence } | null;
  /** The owner of an order; owners take turns. */
  ownerOf(item: Item): string;

  /** Whether the order may start next to those in flight. */
  mayStart(item: Item, inFlight: readonly Item[], context: TreasuryContext): boolean;
  precondition(item: Item, context: TreasuryContext): Precondition;
  /** What other orders may still take from its account. */
  reserved(item: Item, inFlight: readonly Item[], context: TreasuryContext): Promise<Reserved>;
  /** Orders the native coin that the sender lacks. The order continues once the coin has arrived. */
  topUp?(item: Item, units: bigint): Promise<void>;
  /** What the order pays back, read again, if that is not final; null if it is, or if the order pays nothing back. */
  missing(item: Item): Promise<Missing | null>;
  /** The draft that was signed last. */
  lastDraft(item: Item): Promise<TransactionDraft | undefined>;
  /** Finished transactions at this or a later place of the account's sequence, which a node forgot. */
  forgotten?(fromNonce: number): Promise<readonly SentTransaction[]>;

  /** False if another order holds the sequence. */
  reserve(item: Item, sequence: Sequence): Promise<boolean>;
  release(
    ref: Item['ref'],
    released: { readonly attempt: number; readonly reason: string; readonly releasedAtSec: number },
  ): Promise<void>;
  /** False if the order is already paid; these bytes must then never be sent. */
  recordSigned(item: Item, signed: NewlySigned, sequence: Sequence): Promise<boolean>;
  /** Whether the money to be moved has left the chain for good, according to the check before signing. */
  isEmptied?(item: Item, check: PreCheck): boolean;
  /** Whether another order must be recorded before the chain's result may end this one. */
  endsLater?(item: Item, context: TreasuryContext): boolean;
  complete(item: Item, landed: LandedTransaction): Promise<void>;
  fail(item: Item, failure: Failure): Promise<void>;

  /** Finished orders that a reorganisation can still revert. */
  landed(): readonly Item['ref'][];
  /** Checks one of them. Returns the transaction to send again if it left the chain. */
  watch(ref: Item['ref'], faults: RoundFaults): Promise<{ readonly item: Item; readonly sent: SentTransaction } | null>;
}
