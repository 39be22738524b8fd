import { describe, expect, it } from 'vitest';
import type { NotificationId, RefundId } from '../../../../src/domain/values/ids.ts';
import {
  isNoticedType,
  isNotifyingType,
  noticeNotification,
  notificationOf,
  type NotifyingEvent,
  type SessionFacts,
} from '../../../../src/domain/notifications/notifications.ts';
import { NOTIFICATION_TYPES, OUTCOME_TYPES } from '../../../../src/domain/notifications/types.ts';
import { sampleNotification } from '../../../../src/domain/notifications/samples.ts';
import { EVENT_TYPES } from '../../../../src/runtime/commands/event-versions.ts';
import { NOTIFYING_EVENTS } from '../../../../src/features/shared/handlers/session-handler.ts';
import { createdFacts, MERCHANT_ID, SESSION_ID, sessionPaid } from '../../../support/session-facts.ts';

const ID = 'evt_1800000060123000000' as NotificationId;
const AT_MS = 1_800_000_060_999;
const facts: SessionFacts = { ...createdFacts(), rates: {} };
const converted: SessionFacts = { ...facts, rates: { USDT: '1.0002' } };
const bodyOf = (event: NotifyingEvent, of = facts): string => notificationOf(ID, AT_MS, event, of).body;

describe('the body of a notification', () => {
  it('of a payment has the fields of the specification, in its order', () => {
    const paid: NotifyingEvent = sessionPaid({ paidAtSec: 1 });
    expect(bodyOf(paid)).toBe(
      `{"id":"${ID}","type":"payment.completed","created_at":1800000060,"data":{"object":{"amount":"10.00","status":"completed","currency":"USDT",` +
        `"exchange_rate":"1","order_id":"order-1","session_id":"${SESSION_ID}","source":"api"}}}`,
    );
  });

  it('of a cancelled session has what arrived, and the locked rate if it was converted', () => {
    const cancelled: NotifyingEvent = {
      type: 'SessionCancelled',
      data: { cancelledAtSec: 1, coin: 'USDT', received: '4', inFlight: true },
    };
    expect(JSON.parse(bodyOf(cancelled, converted))).toMatchObject({
      data: { object: { amount: '4.00', exchange_rate: '1.0002', status: 'canceled', currency: 'USDT' } },
    });
  });

  it('says `after_expiry` for a payment after expiry, and for no other', () => {
    const paid = (afterExpiry: boolean): NotifyingEvent =>
      sessionPaid({ coin: 'USDC', received: '12.5', excess: '2.50', paidAtSec: 1, afterExpiry });
    expect(JSON.parse(bodyOf(paid(true)))).toMatchObject({
      data: { object: { amount: '12.50', currency: 'USDC', after_expiry: true } },
    });
    expect(bodyOf(paid(false))).not.toContain('after_expiry');
  });

  it('of an expired or failed session has what arrived', () => {
    const expired: NotifyingEvent = {
      type: 'SessionExpired',
      data: { expiredAtSec: 1, coin: 'USDT', received: '4', scannedToSec: {} },
    };
    const failed: NotifyingEvent = {
      type: 'SessionFailed',
      data: { failedAtSec: 1, coin: 'USDT', received: '0.00', reason: 'payment_lost' },
    };
    expect(JSON.parse(bodyOf(expired))).toMatchObject({
      type: 'payment.expired',
      data: { object: { amount: '4.00', status: 'expired' } },
    });
    expect(JSON.parse(bodyOf(failed))).toMatchObject({
      type: 'payment.failed',
      data: { object: { amount: '0.00', status: 'failed' } },
    });
  });

  it('of a refund has the fields of the specification, in its order', () => {
    const refundId = `re_${'a'.repeat(26)}` as RefundId;
    const completed: NotifyingEvent = {
      type: 'RefundCompleted',
      data: { refundId, coin: 'USDT', amount: '5.00', completedAtSec: 1, valuation: null },
    };
    expect(bodyOf(completed)).toBe(
      `{"id":"${ID}","type":"refund.succeeded","created_at":1800000060,"data":{"object":{"session_id":"${SESSION_ID}","order_id":"order-1","refund_id":"${refundId}",` +
        '"refund_amount":"5.00","refund_currency":"USDT","status":"completed","source":"api"}}}',
    );
    const failed: NotifyingEvent = {
      type: 'RefundFailed',
      data: { refundId, coin: 'USDT', amount: '5.00', amountReturned: '0.00', reason: 'token_paused', failedAtSec: 1 },
    };
    expect(JSON.parse(bodyOf(failed))).toMatchObject({
      type: 'refund.failed',
      data: { object: { refund_amount: '5.00', status: 'failed' } },
    });
  });
});

describe('the body of an optional notification', () => {
  const transfer = { amount: '4', coin: 'USDT', network: 'tron', txHash: 'ab12' } as const;
  const about = (type: 'payment.late' | 'payment.reversed', reason: 'after_cancel' | null) =>
    noticeNotification(ID, AT_MS, { type, held: '6', coin: 'USDT', transfer, reason }, facts).body;

  it('is that of a payment, with the transfer that it is about', () => {
    expect(about('payment.late', 'after_cancel')).toBe(
      `{"id":"${ID}","type":"payment.late","created_at":1800000060,"data":{"object":{"amount":"6.00","status":"late","currency":"USDT",` +
        `"exchange_rate":"1","order_id":"order-1","session_id":"${SESSION_ID}","source":"api","reason":"after_cancel",` +
        `"transfer":{"amount":"4.00","currency":"USDT","network":"tron","tx_hash":"ab12"}}}}`,
    );
    expect(JSON.parse(about('payment.reversed', null)).data.object).not.toHaveProperty('reason');
  });

  it('of a refund is that of a refund', () => {
    const { body } = noticeNotification(
      ID,
      AT_MS,
      { type: 'refund.created', refundId: 're_1', amount: '5', coin: 'USDC' },
      facts,
    );
    expect(JSON.parse(body)).toMatchObject({
      type: 'refund.created',
      data: { object: { refund_id: 're_1', refund_amount: '5.00', refund_currency: 'USDC', status: 'pending' } },
    });
  });
});

describe('which events make a notification', () => {
  it('is exactly what the command side gives an event id to', () => {
    expect(new Set(EVENT_TYPES.filter((type) => isNotifyingType(type) || isNoticedType(type)))).toEqual(
      NOTIFYING_EVENTS,
    );
    expect(OUTCOME_TYPES).toEqual([
      ...['payment.completed', 'payment.failed', 'payment.expired', 'payment.cancelled'],
      ...['refund.succeeded', 'refund.failed'],
    ]);
    expect(isNotifyingType('toString')).toBe(false);
  });

  it.each(NOTIFICATION_TYPES)('has a sample of %s that is about no real session', (type) => {
    const sample = sampleNotification(type, ID, { merchantId: MERCHANT_ID, mode: 'test' }, AT_MS);
    expect(JSON.parse(sample.body)).toMatchObject({ id: ID, type });
    expect(sample.sessionId).toMatch(/^cs_[a-z2-7]{32}$/);
    expect(sample.sessionId).not.toBe(SESSION_ID);
  });
});
