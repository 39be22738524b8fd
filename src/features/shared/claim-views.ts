import type { EvidenceKind } from '../../domain/claims.ts';
import type { RefundId, SessionId, TransactionId } from '../../domain/ids.ts';
import type { Coin } from '../../domain/money.ts';
import type { Network } from '../../domain/networks.ts';
import type { Caller, Outcome } from './merchant-api.ts';

/** A deposit whose refund the payer may ask to another address, with the evidence that it can have. */
export interface Claimable {
  readonly transactionId: TransactionId;
  readonly network: Network;
  readonly coin: Coin;
  readonly amount: string;
  readonly txHash: string;
  readonly fromAddress: string | null;
  readonly evidence: readonly EvidenceKind[];
}

/** What the payer of a payment can claim, and did. */
export interface PayersClaims {
  /** What merchant and installation take; empty: nothing can be claimed. */
  readonly accepted: readonly EvidenceKind[];
  readonly claimable: readonly Claimable[];
  /** The newest first. */
  readonly claims: readonly ClaimView[];
}

/** What a payer says. */
export interface ClaimInput {
  readonly transactionId: TransactionId;
  readonly payee: string;
  readonly evidence: EvidenceKind;
  /** Of a signature: the number in the text that was signed. */
  readonly number?: string;
  readonly signature?: string;
  /** Of a test payment: whole coins that it has at least, for exchanges that send no less. */
  readonly testAtLeast?: number;
  readonly reason?: string;
}

/** What a claim begins with; a number that was given before stays. */
export type ClaimBeginning = Pick<ClaimInput, 'transactionId' | 'payee' | 'evidence' | 'number'>;

/** A claim before it is filed. */
export interface PreparedClaim {
  readonly claimable: Claimable;
  /** As the network writes it. */
  readonly payee: string;
  readonly number: string;
  /** For the paying wallet to sign. */
  readonly text: string;
}

export interface ClaimView {
  readonly claimId: string;
  readonly sessionId: SessionId;
  /** The deposit that is claimed; amount, coin, network and sender are its own. */
  readonly transactionId: TransactionId;
  readonly network: Network;
  readonly coin: Coin;
  readonly amount: string;
  readonly fromAddress: string | null;
  /** Our address that it came to, and the test payment has to come to. */
  readonly toAddress: string;
  readonly payee: string;
  readonly evidence: EvidenceKind;
  /** Whether the evidence is there: a test payment may still be on its way. */
  readonly isProven: boolean;
  /** What has to arrive from the same sender; null for other evidence. */
  readonly testPayment: string | null;
  readonly status: 'open' | 'approved' | 'rejected';
  readonly reason: string | null;
  readonly filedAtSec: number;
  readonly refundId: RefundId | null;
  readonly payableFromSec: number | null;
  readonly rejectedAtSec: number | null;
  readonly rejectionReason: string | null;
}

/** The merchant's side of claims; a refund that names one approves it. */
export interface MerchantClaims {
  /** The newest first; null for a session that is not the caller's. */
  listClaims(caller: Pick<Caller, 'merchantId' | 'mode'>, id: SessionId): Promise<readonly ClaimView[] | null>;
  rejectClaim(caller: Caller, id: SessionId, claimId: string, reason?: string): Promise<Outcome<ClaimView>>;
}

/** The payer's side: anyone who holds the unguessable id. */
export interface PayerClaims {
  /** Null when there is no such payment. */
  claimsOf(id: SessionId): Promise<PayersClaims | null>;
  prepareClaim(id: SessionId, input: ClaimBeginning): Promise<Outcome<PreparedClaim>>;
  fileClaim(id: SessionId, input: ClaimInput): Promise<Outcome<ClaimView>>;
}
