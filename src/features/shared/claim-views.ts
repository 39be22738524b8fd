import type { EvidenceKind } from '../../domain/claims.ts';
import type { RefundId, SessionId, TransactionId } from '../../domain/values/ids.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Caller, Outcome } from './merchant-api.ts';

/** A deposit that the payer can have refunded to another address, with the evidence possible for it. */
export interface Claimable {
  readonly transactionId: TransactionId;
  readonly network: Network;
  readonly coin: Coin;
  readonly amount: string;
  readonly txHash: string;
  readonly fromAddress: string | null;
  readonly evidence: readonly EvidenceKind[];
}

/** What the payer of a payment can claim and has claimed. */
export interface PayersClaims {
  /** Evidence that merchant and installation accept; empty if nothing can be claimed. */
  readonly accepted: readonly EvidenceKind[];
  readonly claimable: readonly Claimable[];
  /** Newest first. */
  readonly claims: readonly ClaimView[];
}

/** The payer's input. */
export interface ClaimInput {
  readonly transactionId: TransactionId;
  readonly payee: string;
  readonly evidence: EvidenceKind;
  /** For a signature: the number in the signed text. */
  readonly number?: string;
  readonly signature?: string;
  /** For a test payment: minimum in whole coins, for exchanges with a minimum withdrawal. */
  readonly testAtLeast?: number;
  readonly reason?: string;
}

/** The input to prepare a claim. A number assigned before is kept. */
export type ClaimBeginning = Pick<ClaimInput, 'transactionId' | 'payee' | 'evidence' | 'number'>;

/** A claim before it is filed. */
export interface PreparedClaim {
  readonly claimable: Claimable;
  /** In the network's canonical form. */
  readonly payee: string;
  readonly number: string;
  /** For the paying wallet to sign. */
  readonly text: string;
}

export interface ClaimView {
  readonly claimId: string;
  readonly sessionId: SessionId;
  /** The claimed deposit, which determines amount, coin, network and sender. */
  readonly transactionId: TransactionId;
  readonly network: Network;
  readonly coin: Coin;
  readonly amount: string;
  readonly fromAddress: string | null;
  /** Our address that received the deposit and must receive the test payment. */
  readonly toAddress: string;
  readonly payee: string;
  readonly evidence: EvidenceKind;
  /** Whether the evidence is complete; a test payment may still be on its way. */
  readonly isProven: boolean;
  /** The amount that must arrive from the same sender; null for other evidence. */
  readonly testPayment: string | null;
  readonly status: 'open' | 'approved' | 'rejected';
  readonly reason: string | null;
  readonly filedAtSec: number;
  readonly refundId: RefundId | null;
  readonly payableFromSec: number | null;
  readonly rejectedAtSec: number | null;
  readonly rejectionReason: string | null;
}

/** The merchant's side of claims. A refund that names a claim approves it. */
export interface MerchantClaims {
  /** Newest first; null for a session that is not the caller's. */
  listClaims(caller: Pick<Caller, 'merchantId' | 'mode'>, id: SessionId): Promise<readonly ClaimView[] | null>;
  rejectClaim(caller: Caller, id: SessionId, claimId: string, reason?: string): Promise<Outcome<ClaimView>>;
}

/** The payer's side: anyone who has the unguessable id. */
export interface PayerClaims {
  /** Null if there is no such payment. */
  claimsOf(id: SessionId): Promise<PayersClaims | null>;
  prepareClaim(id: SessionId, input: ClaimBeginning): Promise<Outcome<PreparedClaim>>;
  fileClaim(id: SessionId, input: ClaimInput): Promise<Outcome<ClaimView>>;
}
