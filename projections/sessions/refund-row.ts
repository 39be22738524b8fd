import type { RefundFailureReason } from '../../src/domain/events/refund-failures.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { RefundLeg, RefundRequested } from '../../src/domain/events/refund-events.ts';
import type { MerchantId, Mode, RefundId, SessionId } from '../../src/domain/values/ids.ts';
import type { Coin } from '../../src/domain/money/money.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { RowReader } from '../../src/ports/read-model/projection.ts';
import type { Place, Places } from './merchant-counters.ts';
import type { Moved, SessionRow } from './session-row.ts';
import type { Table } from '../../src/ports/read-model/read-model.ts';

export const REFUNDS_TABLE: Table<RefundRow> = 'refunds@1';

export const REFUND_STATUSES = ['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED'] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

export type PayoutRow = {
  readonly legId: string;
  readonly network: Network;
  readonly coin: Coin;
  readonly toAddress: string;
  readonly amount: string;
  readonly status: RefundStatus;
  /** The transaction that landed, otherwise the one signed last. */
  readonly txHash: string | null;
  readonly signedTxHash: string | null;
  /** In the network's native coin. */
  readonly networkFee: string | null;
  readonly failureReason: RefundFailureReason | null;
  readonly takenFrom: RefundLeg['takenFrom'];
};

/** A refund as lists show it. */
export type RefundRow = {
  readonly refundId: RefundId;
  readonly sessionId: SessionId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly orderId: string;
  readonly coin: Coin;
  readonly amount: string;
  readonly type: 'full' | 'partial';
  readonly status: RefundStatus;
  /** Still sealed with the session's erasable key. */
  readonly reason: string | null;
  readonly payouts: readonly PayoutRow[];
  readonly createdSec: number;
  readonly updatedSec: number;
  readonly failureReason: RefundFailureReason | null;
  readonly amountReturned: string;
  /** Place in the session's list. */
  readonly sessionOrder: number;
} & Place;

const NOTHING = '0.00';

/** The refund that the event creates or changes; null if the event concerns none. */
export function movedRefund(
  event: SessionEvent,
  session: SessionRow,
  places: Places,
  read: RowReader,
): Moved<RefundRow> | null {
  if (!('refundId' in event.data)) return null;
  if (event.type === 'RefundRequested') {
    const place = places.next('refunds', event.data.requestedAtSec);
    return { before: null, after: requestedRefund(event.data, session, place) };
  }
  const before = read(REFUNDS_TABLE, event.data.refundId);
  if (!before) throw new Error(`refund ${event.data.refundId} was never requested`);
  return { before, after: foldRefund(before, event) };
}

function requestedRefund(data: RefundRequested['data'], session: SessionRow, place: Place): RefundRow {
  return {
    refundId: data.refundId,
    sessionId: session.sessionId,
    merchantId: session.merchantId,
    mode: session.mode,
    orderId: session.orderId,
    coin: data.coin,
    amount: data.amount,
    type: data.refundType,
    status: 'PENDING',
    reason: data.reason,
    payouts: data.legs.map(pendingPayout),
    createdSec: data.requestedAtSec,
    updatedSec: data.requestedAtSec,
    failureReason: null,
    amountReturned: NOTHING,
    sessionOrder: session.refunds,
    ...place,
  };
}

function pendingPayout(leg: RefundLeg): PayoutRow {
  return { ...leg, status: 'PENDING', txHash: null, signedTxHash: null, networkFee: null, failureReason: null };
}

/** Applies an event to a refund and its legs, by the same rules as the session's machine. */
function foldRefund(row: RefundRow, event: SessionEvent): RefundRow {
  switch (event.type) {
    case 'RefundPayoutSigned':
    case 'RefundPayoutReplaced': {
      const { legId, txHash, signedAtSec } = event.data;
      const payouts = withLeg(row, legId, { status: 'PROCESSING', txHash, signedTxHash: txHash });
      // A refund that has ended stays so, even if a payout was reorganised away and replaced.
      return row.status === 'COMPLETED' || row.status === 'FAILED'
        ? { ...row, payouts }
        : { ...row, status: 'PROCESSING', updatedSec: signedAtSec, payouts };
    }
    case 'RefundPayoutLanded': {
      const { legId, txHash, networkFee, landedAtSec } = event.data;
      return {
        ...row,
        updatedSec: landedAtSec,
        payouts: withLeg(row, legId, { status: 'COMPLETED', txHash, networkFee }),
      };
    }
    case 'RefundPayoutReverted': {
      const leg = legOf(row, event.data.legId);
      return { ...row, payouts: withLeg(row, leg.legId, { status: 'PROCESSING', txHash: leg.signedTxHash }) };
    }
    case 'RefundPayoutFailed': {
      const { legId, reason, networkFee, failedAtSec } = event.data;
      return {
        ...row,
        updatedSec: failedAtSec,
        payouts: withLeg(row, legId, { status: 'FAILED', failureReason: reason, networkFee }),
      };
    }
    case 'RefundCompleted':
      return { ...row, status: 'COMPLETED', amountReturned: event.data.amount, updatedSec: event.data.completedAtSec };
    case 'RefundFailed': {
      const { amountReturned, reason, failedAtSec } = event.data;
      return { ...row, status: 'FAILED', amountReturned, failureReason: reason, updatedSec: failedAtSec };
    }
    default:
      return row;
  }
}

export function legOf(row: RefundRow, legId: string): PayoutRow {
  const leg = row.payouts.find((payout) => payout.legId === legId);
  if (!leg) throw new Error(`refund ${row.refundId} has no leg ${legId}`);
  return leg;
}

const withLeg = (row: RefundRow, legId: string, change: Partial<PayoutRow>): PayoutRow[] =>
  row.payouts.map((payout) => (payout.legId === legId ? { ...payout, ...change } : payout));
