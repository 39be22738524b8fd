import { EVIDENCE_KINDS } from '../../domain/claims.ts';
import { z } from 'zod';
import { NOTIFICATION_FIELDS, NOTIFICATION_TYPES, type NotificationField } from '../../domain/notification-types.ts';
import { evidenceKind } from './claim.schema.ts';
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
  'Whether payers choose the coin of orders in other currencies, unless `target_currency` names it: the first money that counts decides.';
const TRON_USDC = 'Whether USDC is offered on TRON, where its issuer no longer supports it.';
const HOST = 'Host name of a shop of yours, where its return URLs must be.';
const NAME = 'Name of the shop, as the payment page shows it.';
const DURABLE = 'Whether failed deliveries are tried again for 72 hours.';

const LOGO =
  'Picture of the shop for payment pages: a PNG file in base64, at most 128 KiB and 1024 pixels a side, not interlaced. It is made anew from its pixels, at most 320 by 80. Null: none.';

const URL_RULE = 'https URL, on port 443 or 8443.';
const STANDARD =
  'Whether each request is signed after Standard Webhooks, too (`webhook-id`, `webhook-timestamp`, `webhook-signature`).';
const DISABLED =
  'Whether it is switched off: nothing is sent. The default endpoint is told later what happened meanwhile, a further one is not.';

const DETAILS = {
  received: 'final on-time money that you hold, in units of the coin',
  due: 'what the session asks for',
  excess: 'what is beyond it, once it is paid',
  network: 'network of the transfer or of the only payment of the refund; null without one',
  tx_hash: 'its transaction; null without one',
  failure_reason: 'why a payment or refund failed',
} as const satisfies Record<NotificationField, string>;

function listed<Value extends z.ZodType>(value: Value, what: string, max: number) {
  return z
    .array(value, `must be an array of ${what}s`)
    .max(max, `must name each ${what} once`)
    .refine((values) => new Set(values).size === values.length, `must name each ${what} once`);
}

const eventList = listed(eventType, 'event type', NOTIFICATION_TYPES.length);
const detail = enumeration('What each event says beside what it always says.', DETAILS);
const detailList = listed(detail, 'field', NOTIFICATION_FIELDS.length);

const evidenceList = listed(evidenceKind, 'kind of evidence', EVIDENCE_KINDS.length);

const endpointChoice = {
  durable_redelivery: flag(DURABLE).optional(),
  fields: detailList
    .optional()
    .meta({ description: 'What each event says of its object beside what is always there.' }),
  standard_webhooks: flag(STANDARD).optional(),
};

const policyFields = {
  settlement_currency: coinCode.optional().meta({ description: 'Coin that orders in other currencies are paid in.' }),
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
      'Units of the coin a payment may be short, and never more than the share of what is due that the operator allows: 5 percent by default.',
  }),
  tolerance_percent: amountText
    .nullable()
    .optional()
    .meta({
      description:
        "Percent of what is due that a payment may be short, with at most two decimals and never more than the operator allows; `tolerance`, where it is above zero, is its cap, and at `0` it has no other than the operator's. Null: no share, `tolerance` alone counts.",
      examples: ['0.5'],
    }),
  contact: z
    .string('must be an e-mail address or an https URL')
    .nullable()
    .optional()
    .meta({
      description:
        'Where payers reach the shop, an e-mail address or an https URL; the payment page links to it. Null: nowhere.',
      examples: ['help@shop.example'],
    }),
  refund_claims: evidenceList.optional().meta({
    description:
      'Evidence that you take for a refund to another than who paid; empty: none. The installation may take less.',
  }),
  session_ttl_seconds: sessionLifetime.nullable().optional().meta({ description: 'Null: the installation default.' }),
  ethereum_finalized_from: amountText.optional().meta({
    description: 'From this many units on, payments on Ethereum wait for finality; at most what the operator allows.',
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

/** Body of "change merchant settings": only what is given is changed. */
export const changeMerchantBody = z
  .strictObject({
    ...policyFields,
    webhook: z
      .strictObject({
        url: plainText(2048).nullable().optional().meta({ description: 'https URL; null stops deliveries.' }),
        ...endpointChoice,
        events: eventList
          .optional()
          .meta({ description: 'What you are told at your default endpoint; the six outcomes are, named or not.' }),
      })
      .optional()
      .meta({ description: 'Where you are told what happened; only what is given is changed.' }),
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

/** Where a merchant is told what happened. */
export const webhookEndpoint = z
  .object({
    id: z.string().meta({ description: 'The endpoint, in the paths that change it.' }),
    url: z.string().nullable().meta({ description: 'Null: nothing is sent, and what is to be told waits.' }),
    durable_redelivery: flag(DURABLE),
    events: z.array(eventType).meta({ description: 'What is told.' }),
    fields: z.array(detail).meta({ description: 'What is said of it beside what is always said.' }),
    standard_webhooks: flag(STANDARD),
    disabled: flag(DISABLED),
    suspended: enumeration('Why nothing is sent; null while it is not suspended.', {
      only_failures: 'five days of failures',
      gone: 'three answers of 410 in a row',
    }).nullable(),
    next_secret_activates_at: unixSeconds
      .nullable()
      .meta({ description: 'When an issued secret takes over, in Unix seconds; null when none waits.' }),
  })
  .meta({ id: 'WebhookEndpoint' });

/** Body of "add a webhook endpoint". */
export const createEndpointBody = z
  .strictObject({
    url: plainText(2048, { min: 1 }).meta({ description: URL_RULE, examples: ['https://books.example/webhooks'] }),
    events: eventList.min(1, 'must name at least one event type').meta({ description: 'What it is told.' }),
    ...endpointChoice,
  })
  .meta({ id: 'CreateWebhookEndpoint' });

/** Body of "change a webhook endpoint": only what is given is changed. */
export const changeEndpointBody = z
  .strictObject({
    url: plainText(2048, { min: 1 }).optional().meta({ description: URL_RULE }),
    events: eventList
      .optional()
      .meta({ description: 'What it is told; the default endpoint is told the six outcomes, named or not.' }),
    ...endpointChoice,
    disabled: flag(DISABLED).optional(),
  })
  .meta({ id: 'ChangeWebhookEndpoint' });

const SECRET = {
  webhook_secret: z.string().meta({ description: 'Shown here and never again.' }),
  standard_webhooks_secret: z
    .string()
    .meta({ description: 'The same secret in the form that libraries for Standard Webhooks take.' }),
};

export const newWebhookEndpoint = webhookEndpoint.extend(SECRET).meta({ id: 'NewWebhookEndpoint' });

export const webhookSecret = z
  .object({
    endpoint_id: z.string().meta({ description: 'The endpoint.' }),
    ...SECRET,
    activates_at: unixSeconds.meta({
      description: 'When it takes over unless it is activated before, in Unix seconds.',
    }),
  })
  .meta({ id: 'WebhookSecret' });

export const merchant = z
  .object({
    id: text('Id of the merchant.'),
    name: text('Name of the merchant.'),
    mode: enumeration('Which money it is about.', { live: 'real money', test: 'the sandbox' }),
    settlement_currency: coin.meta({
      description: 'Coin that orders in other currencies are paid in: `USDT` or `USDC`.',
    }),
    networks: z.array(network).meta({ description: 'Networks offered to payers, in the order shown.' }),
    offer_both_coins: flag(BOTH_COINS),
    offer_tron_usdc: flag(TRON_USDC),
    tolerance: text(
      'Units of the coin that a payment may be short; the cap of `tolerance_percent` where there is one and this is above zero.',
    ),
    tolerance_percent: text('Percent of what is due that a payment may be short; null without a share.').nullable(),
    contact: text('Where payers reach the shop; null for nowhere.').nullable(),
    refund_claims: z
      .array(evidenceKind)
      .meta({ description: 'Evidence that you take for a refund to another than who paid.' }),
    session_ttl_seconds: integer(
      'Seconds that a session may be paid; null for the default of the installation.',
    ).nullable(),
    ethereum_finalized_from: text('From this many units on, payments on Ethereum wait for finality.'),
    ethereum_confirmations: integer('Blocks that payments on Ethereum wait for below that amount.'),
    logo: z
      .object({
        width: integer('Pixels.'),
        height: integer('Pixels.'),
        bytes: integer('Size of the picture as it is served.'),
      })
      .nullable()
      .meta({ description: 'Picture of the shop as payment pages show it; null without one.' }),
    webhook: webhookEndpoint.nullable().meta({ description: 'Your default endpoint; null before one was set.' }),
    domains: z
      .array(z.object({ id: text('The `merchant_domain_id` of a create.'), host: text(HOST), name: text(NAME) }))
      .meta({ description: 'Your registered domains.' }),
    change_delay_minutes: integer(
      'How many minutes a change of webhook URLs, policy or settlement addresses waits before it takes effect.',
    ),
    pending_changes: z
      .array(pendingChange)
      .meta({ description: 'Such changes that wait; what is above is still in force.' }),
  })
  .meta({ id: 'Merchant' });

export type ChangeMerchantBody = z.input<typeof changeMerchantBody>;
export type MerchantBody = z.output<typeof merchant>;
export type WebhookEndpointBody = z.output<typeof webhookEndpoint>;
export type WebhookSecretBody = z.output<typeof webhookSecret>;
export type NewWebhookEndpointBody = z.output<typeof newWebhookEndpoint>;
