import type { RefundFailureReason } from '../../src/domain/events/refund-failures.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { Valuation } from '../../src/domain/events/coin-events.ts';
import type {
  RefundPayoutFailed,
  RefundPayoutLanded,
  RefundPayoutReplaced,
  RefundPayoutReverted,
  RefundPayoutSigned,
} from '../../src/domain/events/refund-events.ts';
import { formatAmount } from '../../src/domain/money/money.ts';
import { accept, refuse, type Decision } from '../../src/domain/values/result.ts';
import { foldPayoutFailed } from './refunds.ts';
import { paymentOf } from './payment.ts';
import type { LegState, RefundState, SessionContext } from './session.state.ts';
import { must } from '../../src/domain/values/must.ts';

/* Outgoing money, as the payout process reports it to a session. Every command is safe to repeat. */

/** The bytes exist and were not sent yet. */
export interface RecordPayoutSigned {
  readonly type: 'RecordPayoutSigned';
  readonly data: RefundPayoutSigned['data'];
  /** Null for the leg's first transaction. */
  readonly replaces: { readonly txHash: string; readonly why: RefundPayoutReplaced['data']['why'] } | null;
}
export interface RecordPayoutLanded {
  readonly type: 'RecordPayoutLanded';
  readonly data: RefundPayoutLanded['data'];
  readonly valuation: Valuation | null;
}
export interface RecordPayoutReverted {
  readonly type: 'RecordPayoutReverted';
  readonly data: RefundPayoutReverted['data'];
}
/** Sent only once nothing signed for the leg can pay any more. */
export interface FailPayout {
  readonly type: 'FailPayout';
  readonly refundId: string;
  readonly legId: string;
  readonly reason: RefundFailureReason;
  readonly networkFee: string | null;
  /** The leg's newest transaction, if a chain rule permanently excludes everything that was signed. */
  readonly excludedTxHash?: string;
  readonly nowSec: number;
  /** For a session that becomes paid with the money that the refund held. */
  readonly valuation: Valuation | null;
}

export type PayoutCommand = RecordPayoutSigned | RecordPayoutLanded | RecordPayoutReverted | FailPayout;

interface Found {
  readonly refund: RefundState;
  readonly leg: LegState;
}

export function decidePayout(command: PayoutCommand, context: SessionContext): Decision<SessionEvent> {
  const { refundId, legId } = command.type === 'FailPayout' ? command : command.data;
  const refund = context.refunds[refundId];
  const leg = refund?.legs[legId];
  if (!refund || !leg) return refuse('not_found', 'no such payout');
  switch (command.type) {
    case 'RecordPayoutSigned':
      return recordSigned(command, leg);
    case 'RecordPayoutLanded':
      return recordLanded(command, { refund, leg });
    case 'RecordPayoutReverted':
      return leg.status === 'COMPLETED' && leg.landedTxHash === command.data.txHash
        ? accept({ type: 'RefundPayoutReverted', data: command.data })
        : accept();
    case 'FailPayout':
      return fail(command, { refund, leg }, context);
  }
}

function recordSigned({ data, replaces }: RecordPayoutSigned, leg: LegState): Decision<SessionEvent> {
  if (leg.txHashes.includes(data.txHash)) return accept();
  if (replaces === null) {
    if (leg.status !== 'PENDING') return refuse('conflict', `${data.legId} already has a transaction`);
    return accept({ type: 'RefundPayoutSigned', data });
  }
  if (leg.status !== 'PROCESSING' || leg.txHashes.at(-1) !== replaces.txHash)
    return refuse('conflict', `${data.legId} has nothing to replace`);
  return accept({ type: 'RefundPayoutReplaced', data: { ...data, replaces: replaces.txHash, why: replaces.why } });
}

function recordLanded({ data, valuation }: RecordPayoutLanded, { refund, leg }: Found): Decision<SessionEvent> {
  if (leg.status === 'COMPLETED') return accept();
  if (leg.status !== 'PROCESSING' || !leg.txHashes.includes(data.txHash))
    return refuse('conflict', `${data.txHash} was never signed for ${data.legId}`);
  const landed: SessionEvent = { type: 'RefundPayoutLanded', data };
  return accept(landed, ...endOf(refund, data.legId, 'COMPLETED', data.landedAtSec, null, valuation));
}

function fail(command: FailPayout, { refund, leg }: Found, context: SessionContext): Decision<SessionEvent> {
  const { legId, reason, networkFee, excludedTxHash, nowSec, valuation } = command;
  if (leg.status === 'FAILED') return accept();
  if (leg.status === 'COMPLETED') return refuse('conflict', `${legId} has already paid`);
  // Signed bytes may land whatever anyone thinks of the payer; only the chain can declare them without effect.
  const isExcluded =
    reason === 'execution_reverted' || (excludedTxHash !== undefined && excludedTxHash === leg.txHashes.at(-1));
  if (leg.status === 'PROCESSING' && !isExcluded) return refuse('conflict', `${legId} is already signed`);
  const failed: RefundPayoutFailed = {
    type: 'RefundPayoutFailed',
    data: { refundId: refund.requested.refundId, legId, reason, networkFee, failedAtSec: nowSec },
  };
  const released = { ...context, ...foldPayoutFailed(context, failed.data) };
  return accept<SessionEvent>(
    failed,
    ...endOf(refund, legId, 'FAILED', nowSec, reason, null),
    ...paymentOf(released, { paidAtSec: nowSec, valuation }),
  );
}

/**
 * The refund ends once, with its last leg: a payout that is reorganised away and lands again is not reported again. One
 * cancelled after that has failed, whatever was reported before.
 */
function endOf(
  refund: RefundState,
  legId: string,
  status: 'COMPLETED' | 'FAILED',
  nowSec: number,
  reason: RefundFailureReason | null,
  valuation: Valuation | null,
): SessionEvent[] {
  if (refund.status === 'FAILED' || (refund.status === 'COMPLETED' && status === 'COMPLETED')) return [];
  const legs = Object.values(refund.legs).map((leg) =>
    leg.leg.legId === legId ? { ...leg, status, failureReason: reason } : leg,
  );
  if (legs.some((leg) => leg.status === 'PENDING' || leg.status === 'PROCESSING')) return [];
  const { refundId, coin, amount } = refund.requested;
  const failed = legs.find((leg) => leg.status === 'FAILED');
  if (!failed)
    return [{ type: 'RefundCompleted', data: { refundId, coin, amount, completedAtSec: nowSec, valuation } }];
  const returned = legs.filter((leg) => leg.status === 'COMPLETED').reduce((total, leg) => total + leg.units, 0n);
  return [
    {
      type: 'RefundFailed',
      data: {
        refundId,
        coin,
        amount,
        amountReturned: formatAmount(returned),
        reason: must(failed.failureReason),
        failedAtSec: nowSec,
      },
    },
  ];
}
