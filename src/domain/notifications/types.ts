import { oneOf } from '../values/one-of.ts';
/** Sent to every merchant's default endpoint (specification, "Event types"). */
export const OUTCOME_TYPES = [
  'payment.completed',
  'payment.failed',
  'payment.expired',
  'payment.cancelled',
  'refund.succeeded',
  'refund.failed',
] as const;

/** Sent to those who subscribe: what happens to a session besides its outcome. */
export const OPTIONAL_TYPES = [
  'payment.processing',
  'payment.partially_paid',
  'payment.overpaid',
  'payment.late',
  'payment.wrong_coin',
  'payment.reversed',
  'payment.restored',
  'refund.created',
] as const;

/** Sent to every merchant, subscribed or not: whoever could unsubscribe could also silence them. */
export const SETTINGS_TYPES = ['settings.changed', 'settings.change_scheduled', 'settings.change_withdrawn'] as const;

export type SettingsType = (typeof SETTINGS_TYPES)[number];
export type OutcomeType = (typeof OUTCOME_TYPES)[number];
export type OptionalType = (typeof OPTIONAL_TYPES)[number];
/** The types an endpoint can subscribe to. */
export type NotificationType = OutcomeType | OptionalType;
export type WebhookType = NotificationType | SettingsType;

export const NOTIFICATION_TYPES: readonly NotificationType[] = [...OUTCOME_TYPES, ...OPTIONAL_TYPES];
export const WEBHOOK_TYPES: readonly WebhookType[] = [...NOTIFICATION_TYPES, ...SETTINGS_TYPES];

export const isOptionalType = oneOf(OPTIONAL_TYPES);
export const isSettingsType = oneOf(SETTINGS_TYPES);
export const isOutcomeType = oneOf(OUTCOME_TYPES);
export const isWebhookType = oneOf(WEBHOOK_TYPES);

/** Fields that an endpoint can request in each event's object, in addition to the standard ones. */
export const NOTIFICATION_FIELDS = ['received', 'due', 'excess', 'network', 'tx_hash', 'failure_reason'] as const;
export type NotificationField = (typeof NOTIFICATION_FIELDS)[number];
