import type { RefundRow } from '../../../../projections/sessions/refund-row.ts';
import type { SessionRow } from '../../../../projections/sessions/session-row.ts';
import { paymentOptionsOf, refundableByCoinOf } from '../../../../projections/sessions/session-fold.ts';
import type { TransactionRow } from '../../../../projections/sessions/transaction-row.ts';
import type { RateLock } from '../../../domain/events/coin-events.ts';
import type { SessionPersonalData } from '../../../domain/events/session-personal-data.ts';
import { isCoin } from '../../../domain/money/money.ts';
import { mustBe } from '../../../domain/values/one-of.ts';
import type { DepositView, RefundView, SessionView } from '../../shared/views.ts';
import { must } from '../../../domain/values/must.ts';

/** The fields of a deposit that lists contain; the session has the rest. */
export type ListedDeposit = Pick<
  DepositView,
  | 'network'
  | 'coin'
  | 'amount'
  | 'kind'
  | 'status'
  | 'fromAddress'
  | 'toAddress'
  | 'txHash'
  | 'logIndex'
  | 'blockNumber'
  | 'blockTimeSec'
>;

/**
 * A session as lists show it, made from rows alone. Only the session itself has the other coin, the evidence of the
 * rate and the refunds.
 */
export type ListedSession = Omit<
  SessionView,
  'alternative' | 'rateLock' | 'supersededBy' | 'tolerance' | 'paidWith' | 'deposits' | 'refunds'
> & {
  readonly rateLock: Pick<RateLock, 'rate' | 'lockedAtSec'> | null;
  readonly deposits: readonly ListedDeposit[];
};

/** `personal`: the unsealed data of the row. `transactions`: those of the session, oldest first. */
export function listedSession(
  row: SessionRow,
  personal: SessionPersonalData | null,
  transactions: readonly TransactionRow[],
): ListedSession {
  return {
    sessionId: row.sessionId,
    mode: row.mode,
    merchantId: row.merchantId,
    orderId: row.orderId,
    supersedes: row.supersedes,
    status: row.status,
    amount: row.amount,
    currency: row.currency,
    dueCoin: row.dueCoin,
    dueAmount: row.dueAmount,
    rateLock: row.rate === null ? null : { rate: row.rate, lockedAtSec: must(row.rateLockedAtSec) },
    taxAmount: row.taxAmount,
    shippingAmount: row.shippingAmount,
    createdAtSec: row.createdAtSec,
    expiresAtSec: row.expiresAtSec,
    paymentOptions: paymentOptionsOf(row),
    domainId: row.domainId,
    personal,
    received: row.received,
    pending: row.pending,
    excess: row.excess,
    refunded: row.refunded,
    refundable: row.refundable,
    refundableByCoin: refundableByCoinOf(row),
    reversed: row.reversed,
    afterExpiry: row.afterExpiry,
    paidAtSec: row.paidAtSec,
    deposits: transactions.filter((transaction) => transaction.type === 'deposit').map(listedDeposit),
  };
}

function listedDeposit(row: TransactionRow): ListedDeposit {
  const { network, amount, status, fromAddress, txHash } = row;
  const place = {
    toAddress: must(row.toAddress),
    logIndex: must(row.logIndex),
    blockNumber: must(row.blockNumber),
    blockTimeSec: must(row.blockTimeSec),
  };
  return {
    network,
    coin: mustBe(isCoin, row.coin),
    amount,
    kind: must(row.kind),
    status,
    fromAddress,
    txHash,
    ...place,
  };
}

/** `reason`: the unsealed reason of the row. */
export function listedRefund(row: RefundRow, reason: string | null): RefundView {
  return {
    refundId: row.refundId,
    sessionId: row.sessionId,
    orderId: row.orderId,
    coin: row.coin,
    amount: row.amount,
    type: row.type,
    status: row.status,
    reason,
    payouts: row.payouts.map(({ signedTxHash: _, takenFrom: _taken, ...payout }) => payout),
    createdSec: row.createdSec,
    updatedSec: row.updatedSec,
    failureReason: row.failureReason,
    amountReturned: row.amountReturned,
  };
}
