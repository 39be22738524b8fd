import { z } from 'zod';
import { NOTIFICATION_FIELDS, NOTIFICATION_TYPES, type NotificationField } from '../../domain/notifications/types.ts';
import { eventType } from './event-types.schema.ts';
import { pendingChange } from './settings.schema.ts';
import {
  amountText,
  coin,
  coinCode,
  enumeration,
  flag,
  integer,
  network,
  plainText,
  sessionLifetime,
  text,
  unixSeconds,
} from './words.schema.ts';

const BOTH_COINS =
  'Whether payers choose the coin for orders in other currencies, unless `target_currency` names it: the first money that counts decides.';
const TRON_USDC = 'Whether USDC is offered on TRON, where its issuer no longer supports it.';
const HOST = 'Host name of one of your shops; its return URLs must be there.';
const NAME = 'Name of the shop, shown on the payment page.';
const DURABLE = 'Whether failed deliveries are retried for 72 hours.';

const LOGO =
  'Logo of the shop for payment pages: a PNG file in base64, at most 128 KiB and 1024 pixels a side, not interlaced. It is re-encoded at 320 by 80 at most. Null removes it.';

const URL_RULE = 'https URL, on port 443 or 8443.';
const STANDARD =
  'Whether each request also carries Standard Webhooks headers (`webhook-id`, `webhook-timestamp`, `webhook-signature`).';
const DISABLED =
  'Whether it is switched off, so that nothing is sent. The default endpoint later receives what happened meanwhile, an additional one does not.';

const DETAILS = {
  received: 'final on-time money that you hold, in units of the coin',
  due: 'what the session asks for',
  excess: 'the excess over that, once it is paid',
  network: 'network of the transfer, or of the refund if it has one payment; otherwise null',
  tx_hash: 'its transaction, or null',
  failure_reason: 'why a payment or refund failed',
} as const satisfies Record<NotificationField, string>;

function listed<Value extends z.ZodType>(value: Value, what: string, max: number) {
  return z
    .array(value, `must be an array of ${what}s`)
    .max(max, `must name each ${what} once`)
    .refine((values) => new Set(values).size === values.length, `must name each ${what} once`);
}

const eventList = listed(eventType, 'event type', NOTIFICATION_TYPES.length);
const detail = enumeration('Additional fields of each event.', DETAILS);
const detailList = listed(detail, 'field', NOTIFICATION_FIELDS.length);

const endpointChoice = {
  durable_redelivery: flag(DURABLE).optional(),
  fields: detailList.optional().meta({ description: 'Additional fields of the object of each event.' }),
  standard_webhooks: flag(STANDARD).optional(),
};

const policyFields = {
  settlement_currency: coinCode.optional().meta({ description: 'Coin for orders in other currencies.' }),
  networks: z
    .array(network, 'must be an array of networks')
    .min(1, 'must name at least one network')
    .max(4, 'must name each network once')
    .refine((networks) => new Set(networks).size === networks.length, 'must name each network once')
    .optional()
    .meta({ description: 'Networks offered to payers, in the order shown.' }),
  offer_both_coins: flag(BOTH_COINS).optional(),
  offer_tron_usdc: flag(TRON_USDC).optional(),
  tolerance: amountText.optional().meta({
    description:
      'How many units of the coin a payment may be short; never more than the share of what is due that the operator allows, 5 percent by default.',
  }),
  tolerance_percent: amountText
    .nullable()
    .optional()
    .meta({
      description:
        "Percent of what is due that a payment may be short, with at most two decimals and never more than the operator allows. `tolerance` caps it if above zero; at `0` only the operator's cap applies. Null: no share, only `tolerance` counts.",
      examples: ['0.5'],
    }),
  contact: z
    .string('must be an e-mail address or an https URL')
    .nullable()
    .optional()
    .meta({
      description:
        'Contact for payers, an e-mail address or an https URL; the payment page links to it. Null for none.',
      examples: ['help@shop.example'],
    }),
  session_ttl_seconds: sessionLifetime
    .nullable()
    .optional()
    .meta({ description: 'Null for the installation default.' }),
  ethereum_finalized_from: amountText.optional().meta({
    description: 'Payments on Ethereum of this many units or more wait for finality; at most what the operator allows.',
  }),
  ethereum_confirmations: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(96, 'must be at most 96')
    .optional()
    .meta({ description: 'Blocks below that amount.' }),
};

const domainFields = {
  host: plainText(253, { min: 1 }).meta({ description: HOST, examples: ['shop.example'] }),
  name: plainText(100, { min: 1 }).meta({ description: NAME, examples: ['Shop'] }),
};

/** Body of "change merchant settings": changes only the given fields. */
export const changeMerchantBody = z
  .strictObject({
    ...policyFields,
    webhook: z
      .strictObject({
        url: plainText(2048).nullable().optional().meta({ description: 'https URL; null stops deliveries.' }),
        ...endpointChoice,
        events: eventList
          .optional()
          .meta({ description: 'Events that your default endpoint receives; it always receives the six outcomes.' }),
      })
      .optional()
      .meta({ description: 'Your webhook; only the given fields are changed.' }),
    logo: z
      .string('must be a PNG image in base64')
      .max(175_000, 'must have at most 128 KiB')
      .nullable()
      .optional()
      .meta({ description: LOGO }),
    domains: z
      .array(z.strictObject(domainFields), 'must be an array of domains')
      .max(100, 'must hold at most 100 domains')
      .optional()
      .meta({ description: 'The whole list: hosts not named are removed.' }),
  })
  .meta({ id: 'ChangeMerchant' });

/** A merchant's webhook endpoint. */
export const webhookEndpoint = z
  .object({
    id: z.string().meta({ description: 'Id of the endpoint, used in paths.' }),
    url: z.string().nullable().meta({ description: 'Null: nothing is sent, and notifications wait.' }),
    durable_redelivery: flag(DURABLE),
    events: z.array(eventType).meta({ description: 'Event types it receives.' }),
    fields: z.array(detail).meta({ description: 'Additional fields it receives.' }),
    standard_webhooks: flag(STANDARD),
    disabled: flag(DISABLED),
    suspended: enumeration('Why it is suspended; null if it is not.', {
      only_failures: 'five days of failures',
      gone: 'three answers of 410 in a row',
    }).nullable(),
    next_secret_activates_at: unixSeconds
      .nullable()
      .meta({ description: 'When an issued secret takes over, in Unix seconds; null if none is pending.' }),
  })
  .meta({ id: 'WebhookEndpoint' });

/** Body of "add a webhook endpoint". */
export const createEndpointBody = z
  .strictObject({
    url: plainText(2048, { min: 1 }).meta({ description: URL_RULE, examples: ['https://books.example/webhooks'] }),
    events: eventList.min(1, 'must name at least one event type').meta({ description: 'Event types it receives.' }),
    ...endpointChoice,
  })
  .meta({ id: 'CreateWebhookEndpoint' });

/** Body of "change a webhook endpoint": changes only the given fields. */
export const changeEndpointBody = z
  .strictObject({
    url: plainText(2048, { min: 1 }).optional().meta({ description: URL_RULE }),
    events: eventList
      .optional()
      .meta({ description: 'Event types it receives; the default endpoint always receives the six outcomes.' }),
    ...endpointChoice,
    disabled: flag(DISABLED).optional(),
  })
  .meta({ id: 'ChangeWebhookEndpoint' });

const SECRET = {
  webhook_secret: z.string().meta({ description: 'Shown only here.' }),
  standard_webhooks_secret: z
    .string()
    .meta({ description: 'The same secret in the form that Standard Webhooks libraries accept.' }),
};

export const newWebhookEndpoint = webhookEndpoint.extend(SECRET).meta({ id: 'NewWebhookEndpoint' });

export const webhookSecret = z
  .object({
    endpoint_id: z.string().meta({ description: 'The endpoint.' }),
    ...SECRET,
    activates_at: unixSeconds.meta({
      description: 'When it takes over unless activated earlier, in Unix seconds.',
    }),
  })
  .meta({ id: 'WebhookSecret' });

export const merchant = z
  .object({
    id: text('Id of the merchant.'),
    name: text('Name of the merchant.'),
    mode: enumeration('Test or live money.', { live: 'real money', test: 'the sandbox' }),
    settlement_currency: coin.meta({
      description: 'Coin for orders in other currencies: `USDT` or `USDC`.',
    }),
    networks: z.array(network).meta({ description: 'Networks offered to payers, in the order shown.' }),
    offer_both_coins: flag(BOTH_COINS),
    offer_tron_usdc: flag(TRON_USDC),
    tolerance: text(
      'How many units of the coin a payment may be short; caps `tolerance_percent` if that is set and this is above zero.',
    ),
    tolerance_percent: text('Percent of what is due that a payment may be short; null without a share.').nullable(),
    contact: text('Contact for payers; null for none.').nullable(),
    session_ttl_seconds: integer('Seconds that a session can be paid; null for the installation default.').nullable(),
    ethereum_finalized_from: text('Payments on Ethereum of this many units or more wait for finality.'),
    ethereum_confirmations: integer('Blocks that payments on Ethereum wait for below that amount.'),
    logo: z
      .object({
        width: integer('Pixels.'),
        height: integer('Pixels.'),
        bytes: integer('Size of the logo as served.'),
      })
      .nullable()
      .meta({ description: 'Logo of the shop as shown on payment pages; null without one.' }),
    webhook: webhookEndpoint.nullable().meta({ description: 'Your default endpoint; null until one is set.' }),
    domains: z
      .array(z.object({ id: text('The `merchant_domain_id` of a create.'), host: text(HOST), name: text(NAME) }))
      .meta({ description: 'Your registered domains.' }),
    change_delay_minutes: integer(
      'Minutes by which changes of webhook URLs, policy or settlement addresses are delayed.',
    ),
    pending_changes: z
      .array(pendingChange)
      .meta({ description: 'Pending changes; the values above are still in force.' }),
  })
  .meta({ id: 'Merchant' });

export type ChangeMerchantBody = z.input<typeof changeMerchantBody>;
export type MerchantBody = z.output<typeof merchant>;
export type WebhookEndpointBody = z.output<typeof webhookEndpoint>;
export type WebhookSecretBody = z.output<typeof webhookSecret>;
export type NewWebhookEndpointBody = z.output<typeof newWebhookEndpoint>;
