import type { RefundId } from '../values/ids.ts';
import type { Coin } from '../money/money.ts';
import type { Network } from '../networks/networks.ts';
import type { Valuation } from './coin-events.ts';
import type { RefundFailureReason } from './refund-failures.ts';
import type { ReplacementReason, TransactionValidity } from './transaction-draft.ts';

/* Refunds in the `session-<id>` streams, from the request to the last payout. */

/** One payout of a refund: to one payer on one network. */
export interface RefundLeg {
  readonly legId: string;
  readonly network: Network;
  readonly coin: Coin;
  readonly toAddress: string;
  readonly amount: string;
  /** The deposits it returns; their amounts add up to the leg's. */
  readonly takenFrom: readonly { readonly depositKey: string; readonly amount: string }[];
}

/** What a person sees of a leg before it exists. */
export type PlannedPayout = Pick<RefundLeg, 'network' | 'coin' | 'toAddress' | 'amount'>;

export interface RefundRequested {
  readonly type: 'RefundRequested';
  readonly data: {
    readonly refundId: RefundId;
    readonly coin: Coin;
    readonly amount: string;
    /** What the merchant asked for, in its own terms; null when it asked for the whole remainder. */
    readonly asked: { readonly value: string; readonly currency: string } | null;
    /** The deposit that the merchant named; null when it left the choice to the service. */
    readonly namedDeposit: string | null;
    readonly refundType: 'full' | 'partial';
    readonly legs: readonly RefundLeg[];
    readonly requestedAtSec: number;
    /** The merchant's reason, sealed with the session's key; null when it gave none. */
    readonly reason: string | null;
    readonly idempotencyStream: string | null;
    readonly acknowledgedSender: boolean;
  };
}

/**
 * Written before the bytes are broadcast (EIP-155 raw transaction, TRON `raw_data` and signature, Solana wire format).
 */
export interface RefundPayoutSigned {
  readonly type: 'RefundPayoutSigned';
  readonly data: {
    readonly refundId: RefundId;
    readonly legId: string;
    readonly attempt: number;
    readonly txHash: string;
    readonly signedBytes: string;
    readonly fromAddress: string;
    /** EVM: the nonce. TRON: expiration in ms. Solana: last valid block height. */
    readonly validity: TransactionValidity;
    readonly signedAtSec: number;
  };
}

/**
 * The same payout at a higher fee on the same nonce (EVM), or signed anew once the previous one provably can never
 * land.
 */
export interface RefundPayoutReplaced {
  readonly type: 'RefundPayoutReplaced';
  readonly data: RefundPayoutSigned['data'] & { readonly replaces: string; readonly why: ReplacementReason };
}

export interface RefundPayoutLanded {
  readonly type: 'RefundPayoutLanded';
  readonly data: {
    readonly refundId: RefundId;
    readonly legId: string;
    readonly txHash: string;
    readonly blockNumber: number;
    readonly blockHash: string;
    readonly blockTimeSec: number;
    /** In the network's native coin, measured from the receipt. */
    readonly networkFee: string;
    readonly landedAtSec: number;
  };
}

/** A landed payout left the chain: the same bytes are broadcast again while the deposits they return are final. */
export interface RefundPayoutReverted {
  readonly type: 'RefundPayoutReverted';
  readonly data: {
    readonly refundId: RefundId;
    readonly legId: string;
    readonly txHash: string;
    readonly headNumber: number;
  };
}

export interface RefundPayoutFailed {
  readonly type: 'RefundPayoutFailed';
  readonly data: {
    readonly refundId: RefundId;
    readonly legId: string;
    readonly reason: RefundFailureReason;
    readonly networkFee: string | null;
    readonly failedAtSec: number;
  };
}

export interface RefundCompleted {
  readonly type: 'RefundCompleted';
  readonly data: {
    readonly refundId: RefundId;
    readonly coin: Coin;
    readonly amount: string;
    readonly completedAtSec: number;
    readonly valuation: Valuation | null;
  };
}

export interface RefundFailed {
  readonly type: 'RefundFailed';
  readonly data: {
    readonly refundId: RefundId;
    readonly coin: Coin;
    readonly amount: string;
    /** What reached the payers; only the rest is released. */
    readonly amountReturned: string;
    readonly reason: RefundFailureReason;
    readonly failedAtSec: number;
  };
}

export type RefundEvent =
  | RefundRequested
  | RefundPayoutSigned
  | RefundPayoutReplaced
  | RefundPayoutLanded
  | RefundPayoutReverted
  | RefundPayoutFailed
  | RefundCompleted
  | RefundFailed;
