import type { JournalPlace, TransactionDraft } from '../domain/events/transaction-draft.ts';
import type { HashedParts } from '../domain/events/canonical-text.ts';
import type { NativeTransfer } from '../domain/deposit-proof.ts';
import type { Mode } from '../domain/ids.ts';
import type { Coin } from '../domain/money.ts';
import type { Network } from '../domain/networks.ts';
import type { OutgoingTransaction } from './outgoing.ts';

/** What the signer is asked to sign, and how far the ledger has come. */
export interface SigningRequest {
  readonly order: OutgoingTransaction;
  readonly attempt: number;
  readonly draft: TransactionDraft;
  /**
   * The place that the ledger's last signed transaction of this treasury has in the signer's journal; null before the
   * first.
   */
  readonly ledger: JournalPlace | null;
}

/**
 * Why the signer does not sign. `denied`: never. `later`: when something changes. `stopped`: journal and ledger
 * disagree or a rule of safety is broken; nothing is paid from this treasury until an operator looked.
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

/** The signer's account that everything but sweeps is paid from, per family. */
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
  /** Reported, and not explained by two approvers. */
  readonly unknownOutflows: number;
  /** What refunds and returns may still take, by coin. */
  readonly caps: readonly UsedCap[];
  /** Where the configuration allows more than is in force, in words. */
  readonly limitsToApprove: readonly string[];
  /** Approvals that proved nothing, since the signer's start. */
  readonly wrongApprovals: number;
  /** Transactions that were signed. */
  readonly entries: number;
  readonly place: JournalPlace | null;
  /** Where a ledger must be on each network: what was signed there last, or where it began anew. */
  readonly lastPlaces: Readonly<Partial<Record<Network, JournalPlace>>>;
}

/** Where a merchant's money goes on one network. */
export interface SettlementDestination {
  readonly mode: Mode;
  readonly network: Network;
  readonly merchantId: string;
  readonly address: string;
}

/** An event as the signer hashes and books it. */
export type LedgerEvent = HashedParts;

/** How far the signer has read the event log, and what it found that cannot be. */
export interface LedgerTaken {
  readonly size: number;
  readonly fault: string | null;
}

export interface AskedNativeTransfer extends Pick<NativeTransfer, 'txHash' | 'toAddress'> {
  readonly mode: Mode;
  readonly network: Network;
}

/** Native coin that a transaction brought an address. */
export interface SeenNativeTransfer {
  /** Null when the chain does not name exactly one who signed for it. */
  readonly fromAddress: string | null;
  /** Decimal string in units of the coin. */
  readonly amount: string;
  readonly final: boolean;
}

/** A transaction as the journal has it. */
export interface SignedPayment extends Pick<
  OutgoingTransaction,
  'kind' | 'network' | 'id' | 'coin' | 'amount' | 'fromAddress' | 'toAddress'
> {
  readonly attempt: number;
  readonly draft: TransactionDraft;
  /** Whose money it is; none where it is nobody's. */
  readonly depositKeys: readonly string[];
  /** Whom a settlement paid; null for every other kind, and where no address was agreed to. */
  readonly merchantId: string | null;
  readonly txHash: string;
  readonly signedBytes: string;
  readonly journal: JournalPlace;
  readonly signedAtSec: number;
}

/** The signer's side of money out. It trusts nothing it is told that it can check on chain. */
export interface OutgoingSigner {
  treasuryAddresses(mode: Mode): Promise<TreasuryAddresses>;
  /**
   * The events of the log from leaf `from` on; none to ask how far the signer is. Settlements are judged by nothing
   * else.
   */
  takeLedger(from: number, events: readonly LedgerEvent[]): Promise<LedgerTaken>;
  /** Whether the policy of its kind would let the transaction pass now; signs nothing. */
  check(order: OutgoingTransaction): Promise<SignerVerdict>;
  /** The same request gets the same bytes forever. */
  sign(request: SigningRequest): Promise<Signature>;
  /**
   * Gives the money back to the deposits that it was taken of, once the signer itself saw on chain that nothing was
   * paid.
   */
  release(order: OutgoingTransaction): Promise<SignerVerdict>;
  /** Null when the chain does not show one. */
  nativeTransfer(asked: AskedNativeTransfer): Promise<{ readonly transfer: SeenNativeTransfer | null } | SignerRefusal>;
  /** Those of the transactions that its journal does not hold. */
  unknownTransactions(mode: Mode, network: Network, txHashes: readonly string[]): Promise<readonly string[]>;
  /** What its journal says was signed after the ledger's place, oldest first. */
  signedAfter(
    mode: Mode,
    network: Network,
    ledger: JournalPlace | null,
  ): Promise<{ readonly payments: readonly SignedPayment[] } | SignerRefusal>;
  /** The kill switch: nothing is signed until two approvers want it again. */
  stop(mode: Mode, by: string): Promise<SignerStatus>;
  status(mode: Mode): Promise<SignerStatus>;
}
