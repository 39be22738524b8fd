import type { MerchantId, Mode, NotificationId, RefundId, SessionId } from '../values/ids.ts';
import { sampleSettingsBody } from './settings-notices.ts';
import {
  NOTIFICATION_TYPE_OF,
  noticeNotification,
  notificationOf,
  type Notice,
  type Notification,
  type NotifyingEvent,
  type SessionFacts,
} from './notifications.ts';
import { isOptionalType, isSettingsType, type OptionalType, type WebhookType } from './types.ts';

/** The session that samples describe: has the form of a real id but never belongs to a session. */
const SAMPLE_SESSION_ID = `cs_sample${'a'.repeat(26)}` as SessionId;
const SAMPLE_REFUND_ID = `re_sample${'a'.repeat(20)}` as RefundId;

const SAMPLE_EVENTS: readonly NotifyingEvent[] = [
  {
    type: 'SessionPaid',
    data: {
      coin: 'USDT',
      due: '10.01',
      received: '10.01',
      excess: '0.00',
      paidAtSec: 0,
      afterExpiry: false,
      valuation: null,
    },
  },
  { type: 'SessionFailed', data: { failedAtSec: 0, coin: 'USDT', received: '0.00', reason: 'payment_lost' } },
  { type: 'SessionExpired', data: { expiredAtSec: 0, coin: 'USDT', received: '0.00', scannedToSec: {} } },
  { type: 'SessionCancelled', data: { cancelledAtSec: 0, coin: 'USDT', received: '0.00', inFlight: false } },
  {
    type: 'RefundCompleted',
    data: { refundId: SAMPLE_REFUND_ID, coin: 'USDT', amount: '10.01', completedAtSec: 0, valuation: null },
  },
  {
    type: 'RefundFailed',
    data: {
      refundId: SAMPLE_REFUND_ID,
      coin: 'USDT',
      amount: '10.01',
      amountReturned: '0.00',
      reason: 'recipient_frozen',
      failedAtSec: 0,
    },
  },
];

const SAMPLE_TRANSFER = { amount: '10.01', coin: 'USDT', network: 'ethereum', txHash: `0x${'a'.repeat(64)}` } as const;
const SAMPLE_REASONS: Partial<Record<OptionalType, 'after_deadline' | 'wrong_coin'>> = {
  'payment.late': 'after_deadline',
  'payment.wrong_coin': 'wrong_coin',
};

function sampleNotice(type: OptionalType): Notice {
  if (type === 'refund.created') return { type, refundId: SAMPLE_REFUND_ID, coin: 'USDT', amount: '10.01' };
  const transfer = type === 'payment.wrong_coin' ? { ...SAMPLE_TRANSFER, coin: 'USDC' as const } : SAMPLE_TRANSFER;
  return { type, held: '0.00', coin: 'USDT', transfer, reason: SAMPLE_REASONS[type] ?? null };
}

/** A notification as a merchant would receive it, for testing an endpoint. */
export function sampleNotification(
  type: WebhookType,
  id: NotificationId,
  owner: { merchantId: MerchantId; mode: Mode },
  atMs: number,
): Notification {
  if (isSettingsType(type))
    return {
      notificationId: id,
      type,
      ...owner,
      sessionId: owner.merchantId,
      body: sampleSettingsBody(type, id, atMs),
    };
  const facts: SessionFacts = {
    ...owner,
    sessionId: SAMPLE_SESSION_ID,
    orderId: 'sample-order',
    rates: { USDT: '1.0002', USDC: '1.0002' },
  };
  if (isOptionalType(type)) return noticeNotification(id, atMs, sampleNotice(type), facts);
  const event = SAMPLE_EVENTS.find((candidate) => NOTIFICATION_TYPE_OF[candidate.type] === type);
  if (!event) throw new Error(`no sample of ${type}`);
  return notificationOf(id, atMs, event, facts);
}
