import type { DomainEvent } from './events/domain-event.ts';
import type { SessionCreated } from './events/session-events.ts';
import type { MerchantId, Mode, NotificationId, SessionId } from './ids.ts';
import { amountOf, formatAmount } from './money.ts';

/** Which domain events tell a merchant, and as what (specification, "Event types"). */
export const NOTIFICATION_TYPE_OF = {
  SessionPaid: 'payment.completed',
  SessionFailed: 'payment.failed',
  SessionExpired: 'payment.expired',
  SessionCancelled: 'payment.cancelled',
  RefundCompleted: 'refund.succeeded',
  RefundFailed: 'refund.failed',
} as const satisfies Partial<Record<DomainEvent['type'], string>>;

export type NotifyingEvent = Extract<DomainEvent, { type: keyof typeof NOTIFICATION_TYPE_OF }>;
export type NotificationType = (typeof NOTIFICATION_TYPE_OF)[NotifyingEvent['type']];

export const NOTIFICATION_TYPES = Object.values(NOTIFICATION_TYPE_OF) as readonly NotificationType[];

export const isNotificationType = (text: string): text is NotificationType => (NOTIFICATION_TYPES as readonly string[]).includes(text);
export const isNotifyingType = (type: string): type is NotifyingEvent['type'] => Object.hasOwn(NOTIFICATION_TYPE_OF, type);

/** What a notification says about its session beside the event itself. */
export type SessionFacts = Pick<SessionCreated['data'], 'sessionId' | 'merchantId' | 'mode' | 'orderId'> & {
  /** The locked rate; null without conversion. */
  readonly rate: string | null;
};

/** A message to a merchant, complete: `body` holds the exact bytes of every attempt. */
export interface Notification {
  readonly notificationId: NotificationId;
  readonly type: NotificationType;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly sessionId: SessionId;
  readonly body: string;
}

/** `data.object` of a payment event, in the order of the specification's table. */
export interface PaymentObject {
  readonly amount: string;
  readonly status: 'completed' | 'failed' | 'expired' | 'canceled';
  readonly currency: string;
  readonly exchange_rate: string;
  readonly order_id: string;
  readonly session_id: string;
  readonly source: 'api';
  /** Only on a `payment.completed` that follows a `payment.expired` or `payment.failed`. */
  readonly after_expiry?: true;
}

/** `data.object` of a refund event, in the order of the specification's table. */
export interface RefundObject {
  readonly session_id: string;
  readonly order_id: string;
  readonly refund_id: string;
  readonly refund_amount: string;
  readonly refund_currency: string;
  readonly status: 'completed' | 'failed';
  readonly source: 'api';
}

export interface NotificationBody {
  readonly id: NotificationId;
  readonly type: NotificationType;
  /** Unix seconds. */
  readonly created_at: number;
  readonly data: { readonly object: PaymentObject | RefundObject };
}

/** Without conversion one unit of the order currency is one unit of the coin. */
const NO_CONVERSION = '1';

/** Writes the notification of an event: `atMs` is when it was committed, `facts` how its session began. */
export function notificationOf(notificationId: NotificationId, atMs: number, event: NotifyingEvent, facts: SessionFacts): Notification {
  const type = NOTIFICATION_TYPE_OF[event.type];
  const body: NotificationBody = { id: notificationId, type, created_at: Math.floor(atMs / 1000), data: { object: objectOf(event, facts) } };
  const { merchantId, mode, sessionId } = facts;
  return { notificationId, type, merchantId, mode, sessionId, body: JSON.stringify(body) };
}

function objectOf(event: NotifyingEvent, facts: SessionFacts): PaymentObject | RefundObject {
  switch (event.type) {
    case 'SessionPaid': {
      const paid = payment(facts, 'completed', event.data.received, event.data.coin);
      return event.data.afterExpiry ? { ...paid, after_expiry: true } : paid;
    }
    case 'SessionFailed':
      return payment(facts, 'failed', event.data.received, event.data.coin);
    case 'SessionExpired':
      return payment(facts, 'expired', event.data.received, event.data.coin);
    case 'SessionCancelled':
      return payment(facts, 'canceled', event.data.received, event.data.coin);
    case 'RefundCompleted':
      return refund(facts, 'completed', event.data);
    case 'RefundFailed':
      return refund(facts, 'failed', event.data);
  }
}

function payment(facts: SessionFacts, status: PaymentObject['status'], amount: string, currency: string): PaymentObject {
  const rate = facts.rate ?? NO_CONVERSION;
  return { amount: shown(amount), status, currency, exchange_rate: rate, order_id: facts.orderId, session_id: facts.sessionId, source: 'api' };
}

function refund(facts: SessionFacts, status: RefundObject['status'], data: { refundId: string; amount: string; coin: string }): RefundObject {
  return {
    session_id: facts.sessionId,
    order_id: facts.orderId,
    refund_id: data.refundId,
    refund_amount: shown(data.amount),
    refund_currency: data.coin,
    status,
    source: 'api',
  };
}

const shown = (amount: string): string => formatAmount(amountOf(amount));
