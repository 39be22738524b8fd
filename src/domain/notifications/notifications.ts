import { eventIdOf } from './delivery-ids.ts';
import type { DomainEvent } from '../events/domain-event.ts';
import type { DepositFacts, SessionCreated } from '../events/session-events.ts';
import type { MerchantId, Mode, NotificationId, SessionId } from '../values/ids.ts';
import { amountOf, formatAmount, type Coin } from '../money/money.ts';
import type { Network } from '../networks/networks.ts';
import type { NotificationField, NotificationType, OptionalType, OutcomeType, WebhookType } from './types.ts';

/** Which domain events notify a merchant, and under which type (specification, "Event types"). */
export const NOTIFICATION_TYPE_OF = {
  SessionPaid: 'payment.completed',
  SessionFailed: 'payment.failed',
  SessionExpired: 'payment.expired',
  SessionCancelled: 'payment.cancelled',
  RefundCompleted: 'refund.succeeded',
  RefundFailed: 'refund.failed',
} as const satisfies Partial<Record<DomainEvent['type'], OutcomeType>>;

export type NotifyingEvent = Extract<DomainEvent, { type: keyof typeof NOTIFICATION_TYPE_OF }>;

/** The domain events that an optional type can come from. */
const NOTICED_EVENTS: ReadonlySet<string> = new Set<DomainEvent['type']>([
  'DepositDetected',
  'DepositConfirmed',
  'DepositReverted',
  'TransferCredited',
  'RefundRequested',
]);

export const isNoticedType = (type: string): boolean => NOTICED_EVENTS.has(type);
export const isNotifyingType = (type: string): type is NotifyingEvent['type'] =>
  Object.hasOwn(NOTIFICATION_TYPE_OF, type);

/** What a notification says about its session in addition to the event itself. */
export type SessionFacts = Pick<SessionCreated['data'], 'sessionId' | 'merchantId' | 'mode' | 'orderId'> & {
  /** The locked rate of each coin that the session can be paid in; empty without conversion. */
  readonly rates: Readonly<Partial<Record<Coin, string>>>;
};

/** Optional types about the money of a payment. */
export type PaymentNoticeType = Extract<OptionalType, `payment.${string}`>;
type NoticedTransfer = Pick<DepositFacts, 'amount' | 'coin' | 'network' | 'txHash'>;

/** The contents of an optional notification: the state of the session after the event. */
export type Notice =
  | {
      readonly type: PaymentNoticeType;
      /** Final on-time money that the merchant holds, in the session's coin. */
      readonly held: string;
      readonly coin: Coin;
      /** The transfer it is about. */
      readonly transfer: NoticedTransfer;
      readonly reason: 'after_deadline' | 'after_cancel' | 'wrong_coin' | 'wrong_network' | null;
    }
  | {
      readonly type: 'refund.created';
      readonly refundId: string;
      readonly amount: string;
      readonly coin: Coin;
    };

/** A complete message to a merchant: `body` holds the exact bytes of every attempt. */
export interface Notification {
  readonly notificationId: NotificationId;
  readonly type: WebhookType;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  /** The subject: a session, or the merchant itself. */
  readonly sessionId: SessionId | MerchantId;
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

/** `data.object` of an optional payment event: the same fields, plus its subject. */
export interface PaymentNoticeObject extends Omit<PaymentObject, 'status' | 'after_expiry'> {
  readonly status: 'processing' | 'partially_paid' | 'overpaid' | 'late' | 'wrong_coin' | 'reversed' | 'restored';
  readonly reason?: 'after_deadline' | 'after_cancel' | 'wrong_coin' | 'wrong_network';
  readonly transfer: TransferObject;
}

interface TransferObject {
  readonly amount: string;
  readonly currency: Coin;
  readonly network: Network;
  readonly tx_hash: string;
}

/** `data.object` of a refund event, in the order of the specification's table. */
export interface RefundObject {
  readonly session_id: string;
  readonly order_id: string;
  readonly refund_id: string;
  readonly refund_amount: string;
  readonly refund_currency: string;
  readonly status: 'pending' | 'completed' | 'failed';
  readonly source: 'api';
}

export interface NotificationBody {
  readonly id: NotificationId;
  readonly type: NotificationType;
  /** Unix seconds. */
  readonly created_at: number;
  readonly data: { readonly object: PaymentObject | PaymentNoticeObject | RefundObject };
}

const NANOSECONDS_IN_MS = 1_000_000n;

/** A notification id, which also starts the id of each delivery, is the time of its decision in nanoseconds. */
export const decidedAtMs = (id: NotificationId): number =>
  Number(BigInt(eventIdOf(id).slice('evt_'.length)) / NANOSECONDS_IN_MS);

/** Without conversion, one unit of the order currency equals one unit of the coin. */
const NO_CONVERSION = '1';

/** Writes the notification of an event: `atMs` is its commit time, `facts` describe how its session began. */
export function notificationOf(
  notificationId: NotificationId,
  atMs: number,
  event: NotifyingEvent,
  facts: SessionFacts,
): Notification {
  return written(
    {
      id: notificationId,
      type: NOTIFICATION_TYPE_OF[event.type],
      created_at: seconds(atMs),
      data: { object: objectOf(event, facts) },
    },
    facts,
  );
}

/** Writes the notification of a notice. */
export function noticeNotification(
  notificationId: NotificationId,
  atMs: number,
  notice: Notice,
  facts: SessionFacts,
): Notification {
  return written(
    { id: notificationId, type: notice.type, created_at: seconds(atMs), data: { object: noticeObject(notice, facts) } },
    facts,
  );
}

/** Optional fields that an endpoint can request; null where there is no value. */
export type NotificationDetails = Readonly<Partial<Record<NotificationField, string | null>>>;

/** Adds the requested optional fields to the object, after the standard ones. */
export function withDetails(body: string, details: NotificationDetails, fields: readonly NotificationField[]): string {
  const asked = fields.filter((field) => details[field] !== undefined).map((field) => [field, details[field]] as const);
  if (asked.length === 0) return body;
  const { data, ...rest } = JSON.parse(body) as NotificationBody;
  return JSON.stringify({ ...rest, data: { object: { ...data.object, ...Object.fromEntries(asked) } } });
}

const seconds = (atMs: number): number => Math.floor(atMs / 1000);

function written(body: NotificationBody, { merchantId, mode, sessionId }: SessionFacts): Notification {
  return { notificationId: body.id, type: body.type, merchantId, mode, sessionId, body: JSON.stringify(body) };
}

function noticeObject(notice: Notice, facts: SessionFacts): PaymentNoticeObject | RefundObject {
  if (notice.type === 'refund.created') return refund(facts, 'pending', notice);
  const { type, held, coin, transfer, reason } = notice;
  return {
    ...payment(facts, type.slice('payment.'.length) as PaymentNoticeObject['status'], held, coin),
    ...(reason !== null && { reason }),
    transfer: transferObject(transfer),
  };
}

const transferObject = ({ amount, coin, network, txHash }: NoticedTransfer): TransferObject => ({
  ...{ amount: shown(amount), currency: coin, network, tx_hash: txHash },
});

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

function payment<Status extends string>(facts: SessionFacts, status: Status, amount: string, currency: Coin) {
  const rate = facts.rates[currency] ?? NO_CONVERSION;
  return {
    ...{ amount: shown(amount), status, currency, exchange_rate: rate },
    ...{ order_id: facts.orderId, session_id: facts.sessionId, source: 'api' as const },
  };
}

function refund(
  facts: SessionFacts,
  status: RefundObject['status'],
  data: { refundId: string; amount: string; coin: string },
): RefundObject {
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
