import { z } from 'zod';
import { OPTIONAL_TYPES } from '../../domain/optional-notifications.ts';
import { optionalEventType } from './webhook.schema.ts';
import { amountText, coin, coinCode, enumeration, flag, integer, network, plainText, sessionLifetime, text, unixSeconds } from './words.schema.ts';

const TRON_USDC = 'Whether USDC is offered on TRON, where its issuer no longer supports it.';
const HOST = 'Host name of a shop of yours, where its return URLs must be.';
const NAME = 'Name of the shop, as the payment page shows it.';
const DURABLE = 'Whether failed deliveries are tried again for 72 hours.';

const policyFields = {
  settlement_currency: coinCode.optional().meta({ description: 'Coin that orders in other currencies are paid in.' }),
  networks: z
    .array(network, 'must be an array of networks')
    .min(1, 'must name at least one network')
    .max(4, 'must name each network once')
    .refine((networks) => new Set(networks).size === networks.length, 'must name each network once')
    .optional()
    .meta({ description: 'Networks offered to payers, in the order shown.' }),
  offer_tron_usdc: flag(TRON_USDC).optional(),
  tolerance: amountText.optional().meta({
    description:
      'Units of the coin a payment may be short, and never more than the share of what is due that the operator allows: 5 percent by default.',
  }),
  session_ttl_seconds: sessionLifetime.nullable().optional().meta({ description: 'Null: the installation default.' }),
  ethereum_finalized_from: amountText
    .optional()
    .meta({ description: 'From this many units on, payments on Ethereum wait for finality; at most what the operator allows.' }),
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
        durable_redelivery: flag(DURABLE).optional(),
        events: z
          .array(optionalEventType, 'must be an array of event types')
          .max(OPTIONAL_TYPES.length, 'must name each event type once')
          .refine((types) => new Set(types).size === types.length, 'must name each event type once')
          .optional()
          .meta({ description: 'What you are told beside the six outcomes, which every endpoint gets.' }),
        standard_webhooks: z
          .boolean('must be true or false')
          .optional()
          .meta({ description: 'Sign each request after Standard Webhooks, too (`webhook-id`, `webhook-timestamp`, `webhook-signature`).' }),
      })
      .optional()
      .meta({ description: 'Where you are told what happened; only what is given is changed.' }),
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
    events: z.array(optionalEventType).meta({ description: 'What is told beside the six outcomes.' }),
    standard_webhooks: z.boolean().meta({ description: 'Whether each request is signed after Standard Webhooks, too.' }),
    suspended: enumeration('Why nothing is sent; null while it is not suspended.', {
      only_failures: 'five days of failures',
      gone: 'three answers of 410 in a row',
    }).nullable(),
    next_secret_activates_at: unixSeconds
      .nullable()
      .meta({ description: 'When an issued secret takes over, in Unix seconds; null when none waits.' }),
  })
  .meta({ id: 'WebhookEndpoint' });

export const webhookSecret = z
  .object({
    endpoint_id: z.string().meta({ description: 'The endpoint.' }),
    webhook_secret: z.string().meta({ description: 'Shown here and never again.' }),
    standard_webhooks_secret: z.string().meta({ description: 'The same secret in the form that libraries for Standard Webhooks take.' }),
    activates_at: unixSeconds.meta({ description: 'When it takes over unless it is activated before, in Unix seconds.' }),
  })
  .meta({ id: 'WebhookSecret' });

export const merchant = z
  .object({
    id: text('Id of the merchant.'),
    name: text('Name of the merchant.'),
    mode: enumeration('Which money it is about.', { live: 'real money', test: 'the sandbox' }),
    settlement_currency: coin.meta({ description: 'Coin that orders in other currencies are paid in: `USDT` or `USDC`.' }),
    networks: z.array(network).meta({ description: 'Networks offered to payers, in the order shown.' }),
    offer_tron_usdc: flag(TRON_USDC),
    tolerance: text('Units of the coin that a payment may be short.'),
    session_ttl_seconds: integer('Seconds that a session may be paid; null for the default of the installation.').nullable(),
    ethereum_finalized_from: text('From this many units on, payments on Ethereum wait for finality.'),
    ethereum_confirmations: integer('Blocks that payments on Ethereum wait for below that amount.'),
    webhook: webhookEndpoint.nullable().meta({ description: 'Where you are told what happened; null before an endpoint was set.' }),
    domains: z
      .array(z.object({ id: text('The `merchant_domain_id` of a create.'), host: text(HOST), name: text(NAME) }))
      .meta({ description: 'Your registered domains.' }),
  })
  .meta({ id: 'Merchant' });

export type ChangeMerchantBody = z.input<typeof changeMerchantBody>;
export type MerchantBody = z.output<typeof merchant>;
export type WebhookEndpointBody = z.output<typeof webhookEndpoint>;
export type WebhookSecretBody = z.output<typeof webhookSecret>;
