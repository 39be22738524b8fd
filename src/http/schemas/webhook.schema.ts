import { z } from 'zod';
import { NOTIFICATION_TYPES, type NotificationType } from '../../domain/notifications.ts';
import { OPTIONAL_TYPES } from '../../domain/optional-notifications.ts';
import { MAX_PAGE_SIZE, pagination, pagingFields, secondsParameter } from './list.schema.ts';
import { coin, network, plainText, unixSeconds } from './words.schema.ts';

/** Event types a merchant's endpoint receives (specification, "Event types"), and those it can ask for. */
const eventType = z.enum(NOTIFICATION_TYPES, `must be one of ${NOTIFICATION_TYPES.join(', ')}`);
export type EventType = NotificationType;

export const optionalEventType = z.enum(OPTIONAL_TYPES, `must be one of ${OPTIONAL_TYPES.join(', ')}`);

const paymentObject = {
  amount: z.string().meta({ description: 'Units of the coin that you hold of the on-time money, without what was refunded.' }),
  currency: z.string().meta({ description: 'USDT or USDC.' }),
  exchange_rate: z.string().meta({ description: '`1` without conversion.' }),
  order_id: z.string(),
  session_id: z.string(),
  source: z.literal('api'),
};

/** Body of a webhook about a payment. */
export const paymentEvent = z
  .object({
    id: z.string().meta({ examples: ['evt_1767225660123456789'] }),
    type: z.enum(['payment.completed', 'payment.failed', 'payment.expired', 'payment.cancelled']),
    created_at: unixSeconds,
    data: z.object({
      object: z.looseObject({
        ...paymentObject,
        status: z.enum(['completed', 'failed', 'expired', 'canceled']),
        after_expiry: z
          .literal(true)
          .optional()
          .meta({ description: 'Only on a `payment.completed` that follows a `payment.expired` or `payment.failed`: this event is authoritative.' }),
      }),
    }),
  })
  .meta({ id: 'PaymentEvent' });

/** Body of a webhook about what happens to a payment beside its outcome, for endpoints that ask for it. */
export const paymentNoticeEvent = z
  .object({
    id: z.string(),
    type: optionalEventType.exclude(['refund.created']),
    created_at: unixSeconds,
    data: z.object({
      object: z.looseObject({
        ...paymentObject,
        status: z.enum(['processing', 'partially_paid', 'overpaid', 'late', 'wrong_coin', 'reversed', 'restored']),
        reason: z
          .enum(['after_deadline', 'after_cancel', 'wrong_coin', 'wrong_network'])
          .optional()
          .meta({ description: 'Only on `payment.late` and `payment.wrong_coin`.' }),
        transfer: z
          .object({ amount: z.string(), currency: coin, network, tx_hash: z.string() })
          .meta({ description: 'The transfer that it is about, in the coin that it brought.' }),
      }),
    }),
  })
  .meta({ id: 'PaymentNoticeEvent' });

/** Body of a webhook about a refund. */
export const refundEvent = z
  .object({
    id: z.string(),
    type: z.enum(['refund.succeeded', 'refund.failed', 'refund.created']),
    created_at: unixSeconds,
    data: z.object({
      object: z.looseObject({
        session_id: z.string(),
        order_id: z.string(),
        refund_id: z.string(),
        refund_amount: z.string(),
        refund_currency: z.string(),
        status: z.enum(['completed', 'failed', 'pending']).meta({ description: '`pending` on `refund.created`.' }),
        source: z.string(),
      }),
    }),
  })
  .meta({ id: 'RefundEvent' });

export const webhookEvent = z.union([paymentEvent, paymentNoticeEvent, refundEvent]).meta({ id: 'WebhookEvent' });

const DELIVERY_STATUSES = ['pending', 'delivered', 'exhausted', 'rejected', 'blocked'] as const;

const attempt = z
  .object({
    attempt: z.int(),
    started_at: unixSeconds,
    duration_ms: z.number(),
    status: z.int().nullable().meta({ description: "HTTP status of the receiver's answer." }),
    failure: z.string().nullable(),
    detail: z.string().nullable(),
    address: z.string().nullable().meta({ description: 'IP address the attempt went to.' }),
    nonce: z.string(),
    trigger: z.enum(['automatic', 'durable', 'manual']),
    answer: z.string().nullable().meta({ description: "The first 4 KB of the receiver's answer as text, while it is kept." }),
  })
  .meta({ id: 'DeliveryAttempt' });

export const delivery = z
  .object({
    id: z.string().meta({ description: 'Event id: the same over all attempts and replays.', examples: ['evt_1767225660123456789'] }),
    event_type: eventType,
    session_id: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    sample: z.boolean().meta({ description: 'True when the merchant asked for a sample.' }),
    attempts: z.int(),
    last_status: z.int().nullable(),
    last_failure: z.string().nullable(),
    next_attempt_at: unixSeconds.nullable(),
    created: unixSeconds,
  })
  .meta({ id: 'WebhookDelivery' });

export const deliveryDetail = delivery
  .extend({ event: webhookEvent.meta({ description: 'What was sent.' }), log: z.array(attempt) })
  .meta({ id: 'WebhookDeliveryDetail' });

export const listDeliveriesQuery = z.strictObject({
  ...pagingFields,
  status: z.enum(DELIVERY_STATUSES, `must be one of ${DELIVERY_STATUSES.join(', ')}`).optional(),
  event_type: eventType.optional(),
  session_id: plainText(64).optional(),
  created_from: secondsParameter,
  created_to: secondsParameter,
});

export const listEventsQuery = z.strictObject({
  cursor: z.string().max(512, 'must be a cursor of this list').optional().meta({ description: 'Absent or empty: from the oldest event kept.' }),
  page_size: pagingFields.page_size,
  type: z
    .string()
    .refine(
      (text) => text.split(',').every((type) => eventType.safeParse(type).success),
      `must name event types, separated by commas: ${NOTIFICATION_TYPES.join(', ')}`,
    )
    .optional()
    .meta({ description: 'Only events of these types, separated by commas.', examples: ['payment.completed,refund.succeeded'] }),
  created_from: secondsParameter,
  created_to: secondsParameter,
});

export const eventFeed = z
  .object({
    data: z.array(webhookEvent),
    pagination: z.object({
      page_size: z.int().max(MAX_PAGE_SIZE),
      has_more: z.boolean(),
      next_cursor: z.string().meta({ description: 'Keep it: it goes on after the last event read, also when there are no more yet.' }),
    }),
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

export const testWebhookBody = z.strictObject({ event_type: eventType }).meta({ id: 'TestWebhook' });

export const deliveryList = z.object({ data: z.array(delivery), pagination });

export type DeliveryBody = z.output<typeof delivery>;
export type DeliveryDetailBody = z.output<typeof deliveryDetail>;
export type WebhookEventBody = z.output<typeof webhookEvent>;
export type PaymentEventBody = z.output<typeof paymentEvent>;
export type PaymentNoticeEventBody = z.output<typeof paymentNoticeEvent>;
export type RefundEventBody = z.output<typeof refundEvent>;
export type EventFeedBody = z.output<typeof eventFeed>;
export type ReplayBody = z.input<typeof replayBody>;
