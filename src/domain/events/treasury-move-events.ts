import type { DepositProof, NativeTransfer } from '../networks/deposit-proof.ts';
import type { MerchantId, Mode, SessionId } from '../values/ids.ts';
import type { Coin } from '../money/money.ts';
import type { NativeCoin, Network } from '../networks/networks.ts';
import type { JournalPlace, ReplacementReason, TransactionDraft, TransactionValidity } from './transaction-draft.ts';
import type { ImpossibleReason } from './refund-failures.ts';
import { oneOf } from '../values/one-of.ts';

/*
 * The storage format of money that moves between our own accounts, or leaves them for somebody other than a payer, in
 * the streams `treasury-<mode>-<network>`. Amounts and fees are decimal strings in units of their coin; times are Unix
 * seconds. `...Completed` and `...Failed` repeat the terms, so that books can be kept from them alone.
 */

/**
 * Collection address to treasury; native coin for the fees of a sweep; to a cold address; to a merchant; an unmatched
 * transfer back to its payer; native coin received by a collection address back to its sender; the rent of a nonce
 * account of the treasury on Solana.
 */
export const MOVE_KINDS = [
  'sweep',
  'gas_top_up',
  'withdrawal',
  'settlement',
  'return',
  'native_return',
  'nonce_account',
] as const;
export type MoveKind = (typeof MOVE_KINDS)[number];

/**
 * Moves paid out of an account of the books that belongs to somebody else: a merchant, or who sent unmatched transfers or
 * native coin.
 */
export const OWED_MOVES = ['settlement', 'return', 'native_return'] as const satisfies readonly MoveKind[];
export const isOwed = oneOf(OWED_MOVES);

/** The event names of each kind. */
export const MOVE_NAMES = {
  sweep: 'Sweep',
  gas_top_up: 'GasTopUp',
  withdrawal: 'Withdrawal',
  settlement: 'Settlement',
  return: 'Return',
  native_return: 'NativeReturn',
  nonce_account: 'NonceAccount',
} as const satisfies Record<MoveKind, string>;
export type MoveName = (typeof MOVE_NAMES)[MoveKind];

export interface MoveTerms {
  readonly moveId: string;
  readonly mode: Mode;
  readonly network: Network;
  /** The network's native coin for a top-up, a return of native coin and a nonce account. */
  readonly coin: Coin | NativeCoin;
  readonly amount: string;
  readonly fromAddress: string;
  readonly toAddress: string;
  /**
   * Derivation index of the collection address that a sweep empties or a top-up funds, or number of the nonce account;
   * null when none is involved.
   */
  readonly derivationIndex: number | null;
  /** The merchant a settlement pays. */
  readonly merchantId: MerchantId | null;
  /** The sweep that a top-up serves. */
  readonly forMoveId: string | null;
  /** The transfer that a return pays back; absent for all other kinds. */
  readonly deposit?: DepositProof;
  /** The transfer of native coin that is paid back; absent for all other kinds. */
  readonly transfer?: NativeTransfer;
}

export interface MoveRequested extends MoveTerms {
  /** An operator's name, or `threshold`. */
  readonly requestedBy: string;
  readonly reason: string | null;
  readonly requestedAtSec: number;
}

/** Written before the bytes are broadcast, with their position in the signer's journal. */
export interface MoveSigned {
  readonly moveId: string;
  readonly attempt: number;
  readonly txHash: string;
  readonly signedBytes: string;
  readonly validity: TransactionValidity;
  readonly journal: JournalPlace;
  readonly signedAtSec: number;
}

export interface MoveCompleted extends MoveTerms {
  readonly txHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly blockTimeSec: number;
  /** In `feeCoin`, measured from the receipt. */
  readonly networkFee: string;
  readonly feeCoin: NativeCoin;
  /** The address that paid the fee. */
  readonly feeAddress: string;
  readonly completedAtSec: number;
}

export type MoveFailureReason =
  | 'recipient_frozen'
  | 'sender_frozen'
  | 'token_paused'
  | 'rejected_by_policy'
  | 'rejected_by_operator'
  | 'execution_reverted'
  | 'deposit_reverted'
  | ImpossibleReason;

export interface MoveFailed extends MoveTerms {
  readonly reason: MoveFailureReason;
  /** The transaction that is in a final block without effect; null when nothing was signed. */
  readonly txHash: string | null;
  readonly networkFee: string | null;
  readonly feeCoin: NativeCoin;
  readonly feeAddress: string;
  readonly failedAtSec: number;
}

type MoveEventOf<Name extends MoveName> =
  | { readonly type: `${Name}Requested`; readonly data: MoveRequested }
  | { readonly type: `${Name}Signed`; readonly data: MoveSigned }
  | { readonly type: `${Name}Completed`; readonly data: MoveCompleted }
  | { readonly type: `${Name}Failed`; readonly data: MoveFailed };

type MoveStep = 'Requested' | 'Signed' | 'Completed' | 'Failed';

/** Guard of the events by which moves of these kinds take one of these steps. */
export function isStep<Step extends MoveStep>(kinds: readonly MoveKind[], ...steps: readonly Step[]) {
  const types = new Set<string>(kinds.flatMap((kind) => steps.map((step) => `${MOVE_NAMES[kind]}${step}`)));
  return (event: {
    readonly type: string;
  }): event is Extract<MoveEventOf<MoveName>, { readonly type: `${MoveName}${Step}` }> => types.has(event.type);
}

/** Somebody other than the proposer approved; the signer counts its own approvals. */
interface MoveApproved<Name extends 'Withdrawal' | 'Settlement' | 'Return' | 'NativeReturn'> {
  readonly type: `${Name}Approved`;
  readonly data: { readonly moveId: string; readonly approver: string; readonly approvedAtSec: number };
}

/** Written before anything is signed: the complete unsigned transaction, with its nonce or validity. */
export interface MoveSequenceReserved {
  readonly type: 'MoveSequenceReserved';
  readonly data: {
    readonly moveId: string;
    readonly attempt: number;
    readonly fromAddress: string;
    readonly draft: TransactionDraft;
    readonly replaces: { readonly txHash: string; readonly why: ReplacementReason } | null;
    readonly reservedAtSec: number;
  };
}

/** The signer refused, so it never signed. */
export interface MoveSequenceReleased {
  readonly type: 'MoveSequenceReleased';
  readonly data: {
    readonly moveId: string;
    readonly attempt: number;
    readonly reason: string;
    readonly releasedAtSec: number;
  };
}

/** Money that arrived at the treasury from outside: an operator funded it. */
export interface TreasuryFunded {
  readonly type: 'TreasuryFunded';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly coin: Coin | NativeCoin;
    readonly amount: string;
    readonly address: string;
    /**
     * Sender and transaction are null where only the balance shows the money: a contract transferred it within a call,
     * or the transaction could not be read.
     */
    readonly fromAddress: string | null;
    readonly txHash: string | null;
    readonly logIndex: number | null;
    readonly blockNumber: number;
    /**
     * When the transaction is unknown: the blocks, both inclusive, one of which brought the money. Absent in older
     * events and when the transaction is known.
     */
    readonly window?: BlockRange;
    readonly recordedAtSec: number;
  };
}

/** Both ends inclusive. */
export interface BlockRange {
  readonly fromBlock: number;
  readonly toBlock: number;
}

/**
 * Native coin at a collection address that the books did not include. No chain lists such transfers, so only the
 * balance shows them. If a sweep's fee used some of the coin before it was found, that part is booked with the sweep.
 */
export interface NativeCoinFound {
  readonly type: 'NativeCoinFound';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly coin: NativeCoin;
    readonly amount: string;
    readonly address: string;
    /** The session that the address was assigned to. */
    readonly sessionId: SessionId;
    /** The final block of the balance. */
    readonly blockNumber: number;
    readonly foundAtSec: number;
  };
}

/** Money that left one of our addresses in a transaction that the event log does not know. */
export interface OutflowFacts {
  readonly mode: Mode;
  readonly network: Network;
  /** `<tx hash>:<log index>`, or the address and its nonce when no transfer shows it. */
  readonly outflowKey: string;
  readonly address: string;
  /** Null when it moved none of our coins. */
  readonly coin: Coin | NativeCoin | null;
  readonly amount: string | null;
  readonly toAddress: string | null;
  readonly txHash: string | null;
  readonly blockNumber: number | null;
}

/** Payouts of the treasury stop until every such outflow is acknowledged. */
export interface UnknownOutflowFound {
  readonly type: 'UnknownOutflowFound';
  readonly data: OutflowFacts & { readonly foundAtSec: number };
}

export interface UnknownOutflowAcknowledged {
  readonly type: 'UnknownOutflowAcknowledged';
  readonly data: OutflowFacts & { readonly actor: string; readonly reason: string; readonly acknowledgedAtSec: number };
}

/** Compares the books with the chain at one block. */
export interface TreasuryReconciled {
  readonly type: 'TreasuryReconciled';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    /** Every transfer from our addresses up to and including this block is known to the event log or was reported. */
    readonly throughBlock: number;
    readonly accounts: readonly {
      readonly account: 'treasury' | 'collection';
      readonly coin: Coin | NativeCoin;
      readonly booked: string;
      readonly onChain: string;
      readonly difference: string;
    }[];
    readonly reconciledAtSec: number;
    /**
     * How far the walk over all assigned addresses had come; null: it begins anew. Absent from comparisons on command,
     * which do not walk.
     */
    readonly addressesTo?: string | null;
  };
}

export type TreasuryMoveEvent =
  | MoveEventOf<'Sweep'>
  | MoveEventOf<'GasTopUp'>
  | MoveEventOf<'Withdrawal'>
  | MoveEventOf<'Settlement'>
  | MoveEventOf<'Return'>
  | MoveEventOf<'NativeReturn'>
  | MoveEventOf<'NonceAccount'>
  | MoveApproved<'Withdrawal'>
  | MoveApproved<'Settlement'>
  | MoveApproved<'Return'>
  | MoveApproved<'NativeReturn'>
  | MoveSequenceReserved
  | MoveSequenceReleased
  | TreasuryFunded
  | NativeCoinFound
  | UnknownOutflowFound
  | UnknownOutflowAcknowledged
  | TreasuryReconciled;
