import type { JournalPlace, TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { HashedParts } from '../../domain/events/canonical-text.ts';
import type { NativeTransfer } from '../../domain/networks/deposit-proof.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from './transaction.ts';

/** A transaction to sign, and the place of the event log. */
export interface SigningRequest {
  readonly order: OutgoingTransaction;
  readonly attempt: number;
  readonly draft: TransactionDraft;
  /**
   * The place in the signer's journal of this treasury's last signed transaction in the event log; null before the
   * first.
   */
  readonly logPlace: JournalPlace | null;
}

/**
 * Why the signer does not sign. `denied`: never. `later`: when something changes. `stopped`: journal and event log
 * disagree or a safety rule is broken; nothing is paid from this treasury until an operator has looked.
 */
export interface SignerRefusal {
  readonly ok: false;
  readonly kind: 'denied' | 'later' | 'stopped';
  readonly code: string;
  readonly message: string;
}

export type SignerVerdict = { readonly ok: true } | SignerRefusal;

export type Signature =
  | { readonly ok: true; readonly txHash: string; readonly signedBytes: string; readonly journal: JournalPlace }
  | SignerRefusal;

/** The signer's account that pays everything except sweeps, per family. */
export interface TreasuryAddresses {
  readonly evm: string;
  readonly tron: string;
  readonly solana: string;
}

/** Decimal strings in units of the coin. */
export interface UsedCap {
  readonly coin: Coin;
  readonly perTransaction: string;
  readonly perHour: string;
  readonly usedInHour: string;
  readonly perDay: string;
  readonly usedInDay: string;
  readonly approvalFrom: string;
}

export interface SignerStatus {
  readonly stopped: boolean;
  /** Reported, and not explained by two approvers yet. */
  readonly unknownOutflows: number;
  /** What refunds and returns may still take, by coin. */
  readonly caps: readonly UsedCap[];
  /** Where the configuration allows more than the limits in force, in words. */
  readonly limitsToApprove: readonly string[];
  /** Invalid approvals since the signer's start. */
  readonly wrongApprovals: number;
  /** Number of signed transactions. */
  readonly entries: number;
  readonly place: JournalPlace | null;
  /** The place that an event log must have on each network: what was last signed there, or where it started over. */
  readonly lastPlaces: Readonly<Partial<Record<Network, JournalPlace>>>;
}

/** A merchant's settlement address on one network. */
export interface SettlementDestination {
  readonly mode: Mode;
  readonly network: Network;
  readonly merchantId: string;
  readonly address: string;
}

/** How far the signer has read the event log, and any impossible event it found. */
export interface TakenEvents {
  readonly size: number;
  readonly fault: string | null;
}

export interface AskedNativeTransfer extends Pick<NativeTransfer, 'txHash' | 'toAddress'> {
  readonly mode: Mode;
  readonly network: Network;
}

/** Native coin that a transaction sent to an address. */
export interface SeenNativeTransfer {
  /** Null unless the chain names exactly one signer. */
  readonly fromAddress: string | null;
  /** Decimal string in units of the coin. */
  readonly amount: string;
  readonly final: boolean;
}

/** A transaction in the journal. */
export interface SignedPayment extends Pick<
  OutgoingTransaction,
  'kind' | 'network' | 'id' | 'coin' | 'amount' | 'fromAddress' | 'toAddress'
> {
  readonly attempt: number;
  readonly draft: TransactionDraft;
  /** The deposits whose money it takes; empty if it takes none. */
  readonly depositKeys: readonly string[];
  /** The merchant paid by a settlement; null for every other kind, and where no address was approved. */
  readonly merchantId: string | null;
  readonly txHash: string;
  readonly signedBytes: string;
  readonly journal: JournalPlace;
  readonly signedAtSec: number;
}

/** The signer's methods for outgoing transactions. It trusts nothing that it can check on chain. */
export interface OutgoingSigner {
  treasuryAddresses(mode: Mode): Promise<TreasuryAddresses>;
  /**
   * Events of the log from leaf `from` on; none to ask how far the signer is. Settlements are checked only against
   * these.
   */
  takeEvents(from: number, events: readonly HashedParts[]): Promise<TakenEvents>;
  /** Whether the policy of its kind would allow the transaction now; signs nothing. */
  check(order: OutgoingTransaction): Promise<SignerVerdict>;
  /** The same request always gets the same bytes. */
  sign(request: SigningRequest): Promise<Signature>;
  /**
   * Returns reserved money to its deposits, once the signer itself has seen on chain that nothing was paid. `seenIn`:
   * the block where the service saw that, as nodes forget the hashes of old transactions.
   */
  release(order: OutgoingTransaction, seenIn?: number): Promise<SignerVerdict>;
  /** Null if the chain shows none. */
  nativeTransfer(asked: AskedNativeTransfer): Promise<{ readonly transfer: SeenNativeTransfer | null } | SignerRefusal>;
  /** The transactions among these that are missing from its journal. */
  unknownTransactions(mode: Mode, network: Network, txHashes: readonly string[]): Promise<readonly string[]>;
  /** What its journal signed after the event log's place, oldest first. */
  signedAfter(
    mode: Mode,
    network: Network,
    logPlace: JournalPlace | null,
  ): Promise<{ readonly payments: readonly SignedPayment[] } | SignerRefusal>;
  /** The kill switch: nothing is signed until two approvers resume. */
  stop(mode: Mode, by: string): Promise<SignerStatus>;
  status(mode: Mode): Promise<SignerStatus>;
}
