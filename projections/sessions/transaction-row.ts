import type { DepositConfirmed, DepositDetected, DepositKind } from '../../src/domain/events/session-events.ts';
import type { RefundPayoutSigned } from '../../src/domain/events/refund-events.ts';
import type { MerchantId, Mode, RefundId, SessionId, TransactionId } from '../../src/domain/values/ids.ts';
import type { Coin } from '../../src/domain/money/money.ts';
import { NATIVE_COIN, type NativeCoin, type Network } from '../../src/domain/networks/networks.ts';
import type { PayoutRow, RefundRow } from './refund-row.ts';
import type { SessionRow } from './session-row.ts';
import type { Table } from '../../src/ports/read-model/read-model.ts';

export const TRANSACTIONS_TABLE: Table<TransactionRow> = 'transactions@1';

export const TRANSACTION_TYPES = ['deposit', 'refund', 'fee', 'sweep'] as const;
export type TransactionType = (typeof TRANSACTION_TYPES)[number];

/** `detected`: in the chain or on its way, not final. */
export const TRANSACTION_STATUSES = ['detected', 'final', 'reverted', 'failed'] as const;
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number];

/** One movement of a merchant's money. */
export type TransactionRow = {
  readonly transactionId: TransactionId;
  readonly type: TransactionType;
  readonly status: TransactionStatus;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly sessionId: SessionId;
  readonly orderId: string;
  readonly refundId: RefundId | null;
  readonly network: Network;
  /** For a fee, the network's native coin. */
  readonly coin: Coin | NativeCoin;
  readonly amount: string;
  /** How a deposit counts for its session; null for other types. */
  readonly kind: DepositKind | null;
  /** Null if the chain names no single sender, and for fees. */
  readonly fromAddress: string | null;
  readonly toAddress: string | null;
  readonly txHash: string;
  readonly logIndex: number | null;
  /** Null until a payout is in a block. */
  readonly blockNumber: number | null;
  readonly blockTimeSec: number | null;
  /** When the record was created, Unix seconds; never decreases within the merchant's list. */
  readonly createdSec: number;
  /**
   * While an operator has set the deposit aside, its status is `reverted`; this is the status it would have otherwise.
   */
  readonly aside?: TransactionStatus;
  /** How many transfers below the dust limit it stands for; absent for a single one. */
  readonly transfers?: number;
  /** What refunds have paid out of the deposit or hold reserved; absent if nothing. */
  readonly taken?: string;
  /** Place in the merchant's lists, and in the session's. */
  readonly order: number;
  readonly sessionOrder: number;
};

/** A record without its place in lists. */
export type TransactionFacts = Omit<TransactionRow, 'createdSec' | 'order' | 'sessionOrder'>;

export function detectedDeposit(
  transactionId: TransactionId,
  session: SessionRow,
  data: DepositDetected['data'],
): TransactionFacts {
  return {
    transactionId,
    type: 'deposit',
    status: 'detected',
    merchantId: session.merchantId,
    mode: session.mode,
    sessionId: session.sessionId,
    orderId: session.orderId,
    refundId: null,
    network: data.network,
    coin: data.coin,
    amount: data.amount,
    kind: data.kind,
    fromAddress: data.fromAddress,
    toAddress: data.toAddress,
    txHash: data.txHash,
    logIndex: data.logIndex,
    blockNumber: data.blockNumber,
    blockTimeSec: data.blockTimeSec,
    ...(data.together && { transfers: data.together.transfers }),
  };
}

export const confirmedDeposit = (
  row: TransactionRow,
  { blockNumber, blockTimeSec, kind }: DepositConfirmed['data'],
): TransactionRow => ({
  ...row,
  ...{ status: 'final', blockNumber, blockTimeSec, kind: kind ?? row.kind },
});

/** A deposit that was set aside stays so, whatever its chain status. */
export const withAside = (facts: TransactionFacts, aside: TransactionStatus | undefined): TransactionFacts =>
  aside === undefined ? facts : { ...facts, status: 'reverted', aside: facts.status };

export function putBack({ aside, ...facts }: TransactionFacts): TransactionFacts {
  return { ...facts, status: aside ?? facts.status };
}

export function signedPayout(
  transactionId: TransactionId,
  refund: RefundRow,
  leg: PayoutRow,
  data: RefundPayoutSigned['data'],
): TransactionFacts {
  return {
    transactionId,
    type: 'refund',
    status: 'detected',
    merchantId: refund.merchantId,
    mode: refund.mode,
    sessionId: refund.sessionId,
    orderId: refund.orderId,
    refundId: refund.refundId,
    network: leg.network,
    coin: leg.coin,
    amount: leg.amount,
    kind: null,
    fromAddress: data.fromAddress,
    toAddress: leg.toAddress,
    txHash: data.txHash,
    logIndex: null,
    blockNumber: null,
    blockTimeSec: null,
  };
}

/** The network fee of a payout, paid by the operator. */
export function networkFee(transactionId: TransactionId, payout: TransactionFacts, fee: string): TransactionFacts {
  return {
    ...payout,
    transactionId,
    type: 'fee',
    status: 'final',
    coin: NATIVE_COIN[payout.network],
    amount: fee,
    fromAddress: null,
    toAddress: null,
  };
}
