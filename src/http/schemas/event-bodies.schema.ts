import { z } from 'zod';
import { OPTIONAL_TYPES } from '../../domain/notifications/types.ts';
import type { PaymentNoticeType } from '../../domain/notifications/notifications.ts';
import { createdAt, EVENT_MEANINGS, eventId, typesOf } from './event-types.schema.ts';
import { settingsEvent } from './settings.schema.ts';
import { coin, enumeration, network, orderId, refundId, sessionId, text, transactionHash } from './words.schema.ts';

const source = z.literal('api').meta({ description: 'Always `api`.' });
const ABOUT = 'Subject of the event.';

const details = {
  received: z
    .string()
    .optional()
    .meta({ description: 'If the endpoint asked for it: final on-time money that you hold, in units of the coin.' }),
  due: z.string().optional().meta({ description: 'If the endpoint asked for it: what the session asks for.' }),
  excess: z
    .string()
    .optional()
    .meta({ description: 'If the endpoint asked for it: what is beyond what was due, once it is paid.' }),
  network: network
    .nullable()
    .optional()
    .meta({ description: 'If the endpoint asked for it: the network of the transfer, or null.' }),
  tx_hash: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'If the endpoint asked for it: the transaction, or null.' }),
  failure_reason: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'If the endpoint asked for it: why it failed.' }),
};

const paymentObject = {
  amount: z.string().meta({ description: 'On-time money that you hold, in units of the coin, less refunds.' }),
  currency: z.string().meta({ description: 'USDT or USDC.' }),
  exchange_rate: z.string().meta({ description: '`1` without conversion.' }),
  order_id: orderId,
  session_id: sessionId,
  source,
  ...details,
};

/** Body of a webhook about a payment. */
export const paymentEvent = z
  .object({
    id: eventId,
    type: typesOf(['payment.completed', 'payment.failed', 'payment.expired', 'payment.cancelled']),
    created_at: createdAt,
    data: z
      .object({
        object: z
          .looseObject({
            ...paymentObject,
            status: enumeration('The outcome.', {
              completed: 'paid',
              failed: 'the payment is permanently lost',
              expired: 'the session timed out',
              canceled: 'you cancelled it',
            }),
            after_expiry: z.literal(true).optional().meta({
              description:
                'Only on a `payment.completed` that follows a `payment.expired` or `payment.failed`; this event is authoritative.',
            }),
          })
          .meta({ description: ABOUT }),
      })
      .meta({ description: ABOUT }),
  })
  .meta({ id: 'PaymentEvent' });

const noticedTransfer = z.object({
  amount: text('Units of the coin.'),
  currency: coin,
  network,
  tx_hash: transactionHash,
});
const PAYMENT_NOTICE_TYPES = OPTIONAL_TYPES.filter((type) => type.startsWith('payment.')) as PaymentNoticeType[];

/** Body of a webhook about what happens to a payment apart from its outcome, for endpoints that subscribe to it. */
export const paymentNoticeEvent = z
  .object({
    id: eventId,
    type: typesOf(PAYMENT_NOTICE_TYPES),
    created_at: createdAt,
    data: z
      .object({
        object: z
          .looseObject({
            ...paymentObject,
            status: enumeration('The last part of `type`.', {
              processing: EVENT_MEANINGS['payment.processing'],
              partially_paid: EVENT_MEANINGS['payment.partially_paid'],
              overpaid: EVENT_MEANINGS['payment.overpaid'],
              late: EVENT_MEANINGS['payment.late'],
              wrong_coin: EVENT_MEANINGS['payment.wrong_coin'],
              reversed: EVENT_MEANINGS['payment.reversed'],
              restored: EVENT_MEANINGS['payment.restored'],
            }),
            reason: enumeration('Why it pays nothing; only on `payment.late` and `payment.wrong_coin`.', {
              after_deadline: 'it came after the deadline',
              after_cancel: 'it came after you cancelled the session',
              wrong_coin: 'it is another coin',
              wrong_network: 'it came on a network that the session does not offer',
            }).optional(),
            transfer: noticedTransfer.meta({
              description: 'The transfer concerned, in its own coin.',
            }),
          })
          .meta({ description: ABOUT }),
      })
      .meta({ description: ABOUT }),
  })
  .meta({ id: 'PaymentNoticeEvent' });

/** Body of a webhook about a refund. */
export const refundEvent = z
  .object({
    id: eventId,
    type: typesOf(['refund.succeeded', 'refund.failed', 'refund.created']),
    created_at: createdAt,
    data: z
      .object({
        object: z
          .looseObject({
            session_id: sessionId,
            order_id: orderId,
            refund_id: refundId,
            refund_amount: text('Units of the coin refunded, decimal string.'),
            refund_currency: text('USDT or USDC.'),
            status: enumeration('Status of the refund.', {
              completed: EVENT_MEANINGS['refund.succeeded'],
              failed: EVENT_MEANINGS['refund.failed'],
              pending: EVENT_MEANINGS['refund.created'],
            }),
            source,
            network: details.network,
            tx_hash: details.tx_hash,
            failure_reason: details.failure_reason,
          })
          .meta({ description: ABOUT }),
      })
      .meta({ description: ABOUT }),
  })
  .meta({ id: 'RefundEvent' });

export const webhookEvent = z
  .union([paymentEvent, paymentNoticeEvent, refundEvent, settingsEvent])
  .meta({ id: 'WebhookEvent' });

export type WebhookEventBody = z.output<typeof webhookEvent>;
export type PaymentEventBody = z.output<typeof paymentEvent>;
