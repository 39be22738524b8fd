import { z } from 'zod';
import { WEBHOOK_TYPES } from '../../domain/notifications/types.ts';
import { webhookEvent } from './event-bodies.schema.ts';
import { eventId, webhookType } from './event-types.schema.ts';
import { MAX_PAGE_SIZE, pagination, pagingFields, secondsParameter } from './list.schema.ts';
import { enumeration, flag, integer, plainText, sessionId, text, unixSeconds } from './words.schema.ts';

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
export type EventFeedBody = z.output<typeof eventFeed>;
export type ReplayBody = z.input<typeof replayBody>;
