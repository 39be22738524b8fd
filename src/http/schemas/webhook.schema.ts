import { z } from 'zod';
import { OPTIONAL_TYPES, WEBHOOK_TYPES } from '../../domain/notification-types.ts';
import type { PaymentNoticeType } from '../../domain/notifications.ts';
import { claimId, evidenceKind } from './claim.schema.ts';
import { createdAt, EVENT_MEANINGS, eventId, typesOf, webhookType } from './event-types.schema.ts';
import { settingsEvent } from './settings.schema.ts';
import { MAX_PAGE_SIZE, pagination, pagingFields, secondsParameter } from './list.schema.ts';
import {
  coin,
  enumeration,
  flag,
  integer,
  network,
  orderId,
  plainText,
  refundId,
  sessionId,
  text,
  transactionHash,
  unixSeconds,
} from './words.schema.ts';

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
            claim_id: claimId.optional().meta({ description: 'Only on a `refund.created` that approves a claim.' }),
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

/**
 * Body of a webhook about a payer's claim, for endpoints that subscribe to it. Approving a claim is a refund, so
 * `refund.created` names it.
 */
export const claimEvent = z
  .object({
    id: eventId,
    type: typesOf(['claim.created', 'claim.rejected']),
    created_at: createdAt,
    data: z
      .object({
        object: z
          .looseObject({
            session_id: sessionId,
            order_id: orderId,
            claim_id: claimId,
            status: enumeration('Status of the claim.', {
              open: EVENT_MEANINGS['claim.created'],
              rejected: EVENT_MEANINGS['claim.rejected'],
            }),
            payee: text('The address that the payer named.'),
            evidence: evidenceKind,
            transfer: noticedTransfer.meta({ description: 'The claimed deposit.' }),
            source,
            network: details.network,
            tx_hash: details.tx_hash,
          })
          .meta({ description: ABOUT }),
      })
      .meta({ description: ABOUT }),
  })
  .meta({ id: 'ClaimEvent' });

export const webhookEvent = z
  .union([paymentEvent, paymentNoticeEvent, refundEvent, claimEvent, settingsEvent])
  .meta({ id: 'WebhookEvent' });

const deliveryStatus = enumeration('Status of the delivery.', {
  pending: 'an attempt is due or under way',
  delivered: 'your endpoint answered 2xx',
  exhausted: 'all retries failed',
  rejected: 'your endpoint refused it, or there was none for too long',
  blocked: 'your URL resolves to a forbidden address',
});
const lastStatus = integer("HTTP status of your endpoint's last answer, or null.").nullable();

const attempt = z
  .object({
    attempt: integer('Number of the attempt, from 1.'),
    started_at: unixSeconds.meta({ description: 'When it began, Unix seconds.' }),
    duration_ms: z.number().meta({ description: 'Duration in milliseconds.' }),
    status: z.int().nullable().meta({ description: "HTTP status of the receiver's answer." }),
    failure: text('Why it counts as failed, in a word such as `timeout`; null when it was delivered.').nullable(),
    detail: text('Details of the failure, for people, or null.').nullable(),
    address: z.string().nullable().meta({ description: 'IP address the attempt went to.' }),
    nonce: text('Nonce that was sent and signed.'),
    trigger: enumeration('Why it was made.', {
      automatic: 'the first attempt or one of the five retries',
      durable: 'one of the later retries of durable redelivery',
      manual: 'requested by a user',
    }),
    answer: z.string().nullable().meta({ description: "The first 4 KB of the receiver's answer as text, while kept." }),
  })
  .meta({ id: 'DeliveryAttempt' });

export const delivery = z
  .object({
    id: z.string().meta({
      description:
        'Id of the delivery. At your default endpoint it is the event id; at an additional one, the event id followed by the endpoint id.',
      examples: ['evt_1767225660123456789'],
    }),
    event_id: eventId,
    endpoint_id: text('The receiving endpoint; null if you had none.').nullable(),
    event_type: webhookType,
    session_id: sessionId
      .nullable()
      .meta({ description: 'The session concerned; null for an event about your settings.' }),
    status: deliveryStatus,
    sample: z.boolean().meta({ description: 'True for a sample.' }),
    attempts: integer('Number of attempts made.'),
    last_status: lastStatus,
    last_failure: text('Why the last attempt failed, or null.').nullable(),
    next_attempt_at: unixSeconds
      .nullable()
      .meta({ description: 'When the next attempt is due, Unix seconds; null when none is.' }),
    created: unixSeconds.meta({ description: 'When the event was decided, Unix seconds.' }),
  })
  .meta({ id: 'WebhookDelivery' });

export const deliveryDetail = delivery
  .extend({
    event: webhookEvent.meta({ description: 'What was sent.' }),
    log: z.array(attempt).meta({ description: 'Every attempt, oldest first.' }),
  })
  .meta({ id: 'WebhookDeliveryDetail' });

export const listDeliveriesQuery = z.strictObject({
  ...pagingFields,
  status: deliveryStatus.optional(),
  event_type: webhookType.optional(),
  session_id: plainText(64).optional().meta({ description: 'Only deliveries of this session.' }),
  created_from: secondsParameter,
  created_to: secondsParameter,
});

export const listEventsQuery = z.strictObject({
  cursor: z
    .string()
    .max(512, 'must be a cursor of this list')
    .optional()
    .meta({ description: 'Absent or empty: from the oldest event kept.' }),
  page_size: pagingFields.page_size,
  type: z
    .string()
    .refine(
      (text) => text.split(',').every((type) => webhookType.safeParse(type).success),
      `must name event types, separated by commas: ${WEBHOOK_TYPES.join(', ')}`,
    )
    .optional()
    .meta({
      description: 'Only events of these types, separated by commas.',
      examples: ['payment.completed,refund.succeeded'],
    }),
  created_from: secondsParameter,
  created_to: secondsParameter,
});

export const eventFeed = z
  .object({
    data: z.array(webhookEvent).meta({ description: 'Events, oldest first, as they were sent.' }),
    pagination: z
      .object({
        page_size: z.int().max(MAX_PAGE_SIZE).meta({ description: 'Maximum number of events per page.' }),
        has_more: flag('Whether more events follow this page.'),
        next_cursor: z
          .string()
          .meta({ description: 'Keep it: it continues after the last event read, even if there are no more yet.' }),
      })
      .meta({ description: 'Position of this page in the feed.' }),
  })
  .meta({ id: 'EventFeed' });

const sinceSeconds = (description: string) =>
  z.int('must be Unix seconds').min(0, 'must be Unix seconds').max(1e11, 'must be Unix seconds').meta({ description });

export const replayBody = z
  .strictObject({
    created_from: sinceSeconds('Unix seconds, inclusive.'),
    created_to: sinceSeconds('Unix seconds, inclusive.').optional(),
    only_undelivered: z.boolean('must be true or false').optional().meta({ description: 'Default true.' }),
  })
  .meta({ id: 'ReplayDeliveries' });

export const replayed = z
  .object({ requested: z.int().meta({ description: 'Deliveries that will be sent again, in order.' }) })
  .meta({ id: 'ReplayedDeliveries' });

export const testWebhookBody = z
  .strictObject({
    event_type: webhookType,
    endpoint_id: plainText(64, { min: 1 })
      .optional()
      .meta({ description: 'The endpoint to send it to; your default one when absent.' }),
  })
  .meta({ id: 'TestWebhook' });

export const deliveryList = z.object({
  data: z.array(delivery).meta({ description: 'Deliveries, newest first.' }),
  pagination,
});

export type DeliveryBody = z.output<typeof delivery>;
export type DeliveryDetailBody = z.output<typeof deliveryDetail>;
export type WebhookEventBody = z.output<typeof webhookEvent>;
export type PaymentEventBody = z.output<typeof paymentEvent>;
export type EventFeedBody = z.output<typeof eventFeed>;
export type ReplayBody = z.input<typeof replayBody>;
