import type { JournalPlace, TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { MoveFailureReason } from '../../domain/events/treasury-move-events.ts';
import type {
  LandedTransaction,
  OutgoingTransaction,
  PreCheck,
  Reserved,
  SentTransaction,
  WaitReason,
} from '../../ports/outgoing.ts';
import type { MoveReservation } from '../../../state-machines/treasury/moves.state.ts';
import type { TreasuryContext } from '../../../state-machines/treasury/treasury.state.ts';
import type { RoundFaults } from './faults.ts';

/** How an outgoing transaction is found again, and what people and logs call it. */
export interface OutgoingRef {
  /** Of the order. */
  readonly id: string;
  readonly names: object;
  readonly logged: Readonly<Record<string, string>>;
}

/** A transaction whose bytes exist. */
export interface SignedTransaction extends SentTransaction {
  readonly attempt: number;
  readonly signedAtSec: number;
}

/** What is to be paid, with everything that was signed for it. */
export interface Outgoing {
  readonly ref: OutgoingRef;
  readonly order: OutgoingTransaction;
  /** Oldest first; at most one of them can land. */
  readonly signed: readonly SignedTransaction[];
}

export const isSigned = ({ signed }: Outgoing): boolean => signed.length > 0;

/** A place in the account's sequence, taken before anything is signed. */
export type Sequence = Pick<MoveReservation, 'attempt' | 'fromAddress' | 'draft' | 'replaces' | 'reservedAtSec'>;

export type NewlySigned = SignedTransaction & { readonly journal: JournalPlace };

/** Whether it may be begun now, as far as its own rules say. */
export type Precondition =
  | { readonly kind: 'ready' }
  | { readonly kind: 'wait'; readonly reason: WaitReason; readonly detail: string }
  | { readonly kind: 'fail'; readonly reason: MoveFailureReason };

/** Money that is to be paid back and is not final, or not any more. */
export interface Missing {
  /** It is on its way to being final. */
  readonly isAwaited: boolean;
  /** When it left the chain last, where that is known; Unix seconds. */
  readonly goneSinceSec: number | null;
  /** Why nothing is paid meanwhile, for people. */
  readonly detail: string;
}

/** Why it is over without being paid. */
export interface Failure {
  readonly reason: MoveFailureReason;
  /** What is in a final block without effect; null when nothing that was signed is in a block. */
  readonly ineffective: { readonly txHash: string; readonly networkFee: string } | null;
}

/** Hears of what the records show while they are read. */
export interface OpenListener<Ref> {
  readonly ended: (ref: Ref) => void;
  /** One that cannot be read must not hold up the others. */
  readonly unreadable: (ref: Ref, error: unknown) => void;
}

/**
 * Where outgoing transactions of some kinds are recorded, and the rules that they alone have. All methods that
 * write are safe to repeat; they throw when what was signed or has landed is refused, since the records and the chain
 * would disagree.
 */
export interface OutgoingRecords<Item extends Outgoing> {
  readonly words: { readonly one: string; readonly all: string };
  /** Whether it is done as soon as the chain calls it landed, or not before that is final. */
  readonly doneOnce: 'landed' | 'final';
  /**
   * The share of the time that a deposit has for coming back which a process that has just started waits for its
   * watchers to see it again.
   */
  readonly graceAfterStart: number;

  /** What is not done, oldest first. */
  open(listener: OpenListener<Item['ref']>): Promise<readonly Item[]>;
  find(ref: Item['ref']): Promise<Item | null>;
  /** What is reserved for one of them and not signed yet. */
  reservation(context: TreasuryContext): { readonly ref: Item['ref']; readonly sequence: Sequence } | null;
  /** Whose it is: owners take turns. */
  ownerOf(item: Item): string;

  /** Whether its turn may come, beside what is in flight already. */
  mayStart(item: Item, inFlight: readonly Item[], context: TreasuryContext): boolean;
  precondition(item: Item, context: TreasuryContext): Precondition;
  /** What others may still take from its account. */
  reserved(item: Item, inFlight: readonly Item[], context: TreasuryContext): Promise<Reserved>;
  /** Has its sender given what it lacks of the native coin; the order goes on by itself once that is there. */
  topUp?(item: Item, units: bigint): Promise<void>;
  /** What it pays back, read anew, while that is not final; null when it is, and for what pays nothing back. */
  missing(item: Item): Promise<Missing | null>;
  /** The draft of what was signed last. */
  lastDraft(item: Item): Promise<TransactionDraft | undefined>;
  /** What is done and takes this or a later place in the account's sequence, which a node forgot. */
  forgotten?(fromNonce: number): Promise<readonly SentTransaction[]>;

  /** False when another has the sequence. */
  reserve(item: Item, sequence: Sequence): Promise<boolean>;
  release(
    ref: Item['ref'],
    released: { readonly attempt: number; readonly reason: string; readonly releasedAtSec: number },
  ): Promise<void>;
  /** False when it is paid already, so that these bytes are never sent. */
  recordSigned(item: Item, signed: NewlySigned, sequence: Sequence): Promise<boolean>;
  /** Whether what it was to move has left the chain for good, by how its chain looks at it before anything is signed. */
  isEmptied?(item: Item, check: PreCheck): boolean;
  /** Whether another of them has to be recorded before it may end by what the chain did with it. */
  endsLater?(item: Item, context: TreasuryContext): boolean;
  complete(item: Item, landed: LandedTransaction): Promise<void>;
  fail(item: Item, failure: Failure): Promise<void>;

  /** What is done and can still leave the chain. */
  landed(): readonly Item['ref'][];
  /** Looks at one of them; what is to be sent again when it left. */
  watch(ref: Item['ref'], faults: RoundFaults): Promise<{ readonly item: Item; readonly sent: SentTransaction } | null>;
}
