import { z } from 'zod';
import { OPTIONAL_TYPES } from '../../domain/optional-notifications.ts';
import { optionalEventType } from './webhook.schema.ts';
import { amountText, coin, coinCode, network, plainText, sessionLifetime, unixSeconds } from './words.schema.ts';

const policyFields = {
  settlement_currency: coinCode.optional().meta({ description: 'Coin that orders in other currencies are paid in.' }),
  networks: z
    .array(network, 'must be an array of networks')
    .min(1, 'must name at least one network')
    .max(4, 'must name each network once')
    .refine((networks) => new Set(networks).size === networks.length, 'must name each network once')
    .optional()
    .meta({ description: 'Networks offered to payers, in the order shown.' }),
  offer_tron_usdc: z.boolean('must be true or false').optional(),
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
  host: plainText(253, { min: 1 }).meta({ examples: ['shop.example'] }),
  name: plainText(100, { min: 1 }).meta({ examples: ['Shop'] }),
};

/** Body of "change merchant settings": only what is given is changed. */
export const changeMerchantBody = z
  .strictObject({
    ...policyFields,
    webhook: z
      .strictObject({
        url: plainText(2048).nullable().optional().meta({ description: 'https URL; null stops deliveries.' }),
        durable_redelivery: z.boolean('must be true or false').optional(),
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
      .optional(),
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
    durable_redelivery: z.boolean().meta({ description: 'Whether failed deliveries are tried again for 72 hours.' }),
    events: z.array(optionalEventType).meta({ description: 'What is told beside the six outcomes.' }),
    standard_webhooks: z.boolean().meta({ description: 'Whether each request is signed after Standard Webhooks, too.' }),
    suspended: z
      .enum(['only_failures', 'gone'])
      .nullable()
      .meta({ description: 'Why nothing is sent: five days of failures, or three answers of 410 in a row. Null while it is not suspended.' }),
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
    id: z.string(),
    name: z.string(),
    mode: z.enum(['live', 'test']),
    settlement_currency: coin,
    networks: z.array(network),
    offer_tron_usdc: z.boolean(),
    tolerance: z.string(),
    session_ttl_seconds: z.int().nullable(),
    ethereum_finalized_from: z.string(),
    ethereum_confirmations: z.int(),
    webhook: webhookEndpoint.nullable(),
    domains: z.array(z.object({ id: z.string().meta({ description: 'The `merchant_domain_id` of a create.' }), host: z.string(), name: z.string() })),
  })
  .meta({ id: 'Merchant' });

export type ChangeMerchantBody = z.input<typeof changeMerchantBody>;
export type MerchantBody = z.output<typeof merchant>;
export type WebhookEndpointBody = z.output<typeof webhookEndpoint>;
export type WebhookSecretBody = z.output<typeof webhookSecret>;
