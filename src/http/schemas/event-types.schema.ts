import { z } from 'zod';
import { NOTIFICATION_TYPES, WEBHOOK_TYPES, type WebhookType } from '../../domain/notifications/types.ts';
import { explanation, unixSeconds } from './words.schema.ts';

/** Event types for merchants' endpoints (specification, "Event types"), and those to which they can subscribe. */
export const EVENT_MEANINGS = {
  'payment.completed': 'the payment is final on chain',
  'payment.failed': 'a payment that would have sufficed was seen and is permanently lost',
  'payment.expired': 'the session timed out',
  'payment.cancelled': 'you cancelled the session',
  'refund.succeeded': 'the refund reached the payer',
  'refund.failed': 'the refund could not be paid out',
  'payment.processing': 'an on-time transfer was seen, and none was under way before',
  'payment.partially_paid': 'on-time money is final, and more is missing',
  'payment.overpaid': 'on-time money came to a session that is already paid',
  'payment.late': 'money became final that can no longer pay',
  'payment.wrong_coin': 'money became final that can never pay this session',
  'payment.reversed': 'final money left the chain again',
  'payment.restored': 'the money is back, and the paid session has enough again',
  'refund.created': 'a refund was accepted',
  'settings.changed': 'a webhook URL, your policy or a settlement address was changed',
  'settings.change_scheduled': 'such a change was requested and is delayed',
  'settings.change_withdrawn': 'a delayed change will not take effect',
} as const satisfies Record<WebhookType, string>;

/** Some of the event types, each with its meaning. */
export function typesOf<const Types extends readonly WebhookType[]>(types: Types) {
  return z
    .enum(types, `must be one of ${types.join(', ')}`)
    .meta({ description: explanation('What happened.', EVENT_MEANINGS, types as readonly WebhookType[]) });
}

/** What an endpoint can subscribe to. */
export const eventType = typesOf(NOTIFICATION_TYPES);
/** What is sent. */
export const webhookType = typesOf(WEBHOOK_TYPES);

export const eventId = z
  .string()
  .meta({ description: 'Event id; deduplicate by it.', examples: ['evt_1767225660123456789'] });
export const createdAt = unixSeconds.meta({ description: 'When it was decided, Unix seconds.' });
