import type { DepositFacts, SessionEvent } from '../../src/domain/events/session-events.ts';
import { formatAmount } from '../../src/domain/money/money.ts';
import type { Notice, NotificationDetails, PaymentNoticeType } from '../../src/domain/notifications/notifications.ts';
import type { SessionState } from './session.decider.ts';
import { isPayable } from './transfers.ts';
import {
  createdOf,
  depositsOf,
  excess,
  hasPending,
  held,
  isReversed,
  isSufficient,
  type SessionContext,
} from './session.state.ts';
import type { DepositState } from './deposits.ts';

/**
 * What an event of a session means to a merchant who subscribes to more than outcomes; null if it means nothing new.
 */
export function noticeOf(event: SessionEvent, before: SessionState, after: SessionState): Notice | null {
  switch (event.type) {
    case 'DepositDetected':
      return isPayable(before.context) && !hasPending(before.context) && hasPending(after.context)
        ? about('payment.processing', after.context, event.data)
        : null;
    case 'DepositConfirmed':
    case 'TransferCredited':
      return arrival(event.data.depositKey, before.context, after.context);
    case 'DepositReverted':
      return event.data.afterFinal ? loss(event.data.depositKey, after.context) : null;
    case 'RefundRequested': {
      const { refundId, coin, amount } = event.data;
      return { type: 'refund.created', refundId, coin, amount };
    }
    default:
      return null;
  }
}

/** Money that an operator set aside, or that is our own, does not belong to the session, and dust is not reported. */
const concerns = (deposit: DepositState | undefined): deposit is DepositState =>
  deposit !== undefined && deposit.aside === undefined && deposit.kind !== 'dust' && deposit.kind !== 'own';

function loss(depositKey: string, context: SessionContext): Notice | null {
  const deposit = context.deposits.get(depositKey);
  return concerns(deposit) ? about('payment.reversed', context, deposit.facts) : null;
}

/** The notice for a deposit that has become final. */
function arrival(depositKey: string, before: SessionContext, after: SessionContext): Notice | null {
  const deposit = after.deposits.get(depositKey);
  if (!concerns(deposit)) return null;
  const { kind, facts } = deposit;
  if (kind === 'wrong_coin' || kind === 'wrong_network') return about('payment.wrong_coin', after, facts, kind);
  if (after.cancelled !== null) return about('payment.late', after, facts, 'after_cancel');
  if (kind === 'late') return about('payment.late', after, facts, 'after_deadline');
  // If it is enough, the following event reports the outcome itself.
  if (after.paid === null)
    return isSufficient(after, held(after)) ? null : about('payment.partially_paid', after, facts);
  if (!isReversed(before)) return about('payment.overpaid', after, facts);
  return about(isReversed(after) ? 'payment.partially_paid' : 'payment.restored', after, facts);
}

function about(
  type: PaymentNoticeType,
  context: SessionContext,
  { amount, coin, network, txHash }: Pick<DepositFacts, 'amount' | 'coin' | 'network' | 'txHash'>,
  reason: Extract<Notice, { reason: unknown }>['reason'] = null,
): Notice {
  return {
    type,
    held: formatAmount(held(context)),
    coin: createdOf(context).dueCoin,
    transfer: { amount, coin, network, txHash },
    reason,
  };
}

/**
 * The details that an endpoint can subscribe to, as of the session after the event. Details that do not apply to an
 * event are absent.
 */
export function detailsOf(event: SessionEvent, context: SessionContext): NotificationDetails {
  if (event.type === 'RefundRequested' || event.type === 'RefundCompleted' || event.type === 'RefundFailed')
    return refundDetails(context, event.data.refundId);
  const transfer = transferOf(event, context);
  return {
    received: formatAmount(held(context)),
    due: formatAmount(context.due),
    excess: formatAmount(excess(context)),
    network: transfer?.facts.network ?? null,
    tx_hash: transfer?.facts.txHash ?? null,
    ...(event.type === 'SessionFailed' && { failure_reason: event.data.reason }),
  };
}

/** The event's transfer, otherwise the newest one that belongs to the session. */
function transferOf(event: SessionEvent, context: SessionContext): DepositState | undefined {
  if ('depositKey' in event.data) return context.deposits.get(event.data.depositKey);
  const final = depositsOf(context).filter(({ kind, status }) => kind === 'on_time' && status === 'final');
  return final.toSorted((one, other) => one.facts.blockTimeSec - other.facts.blockTimeSec).at(-1);
}

/** Network and transaction of the only payout; null with several. */
function refundDetails({ refunds }: SessionContext, refundId: string): NotificationDetails {
  const refund = refunds[refundId];
  const [first, ...others] = Object.values(refund?.legs ?? {});
  const only = others.length === 0 ? first : undefined;
  return {
    network: only?.leg.network ?? null,
    tx_hash: only?.landedTxHash ?? only?.txHashes.at(-1) ?? null,
    ...(refund?.status === 'FAILED' && { failure_reason: refund.failureReason }),
  };
}
