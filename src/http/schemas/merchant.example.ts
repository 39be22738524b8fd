import type {
  ChangeMerchantBody,
  MerchantBody,
  NewWebhookEndpointBody,
  WebhookEndpointBody,
  WebhookSecretBody,
} from './merchant.schema.ts';
import type { PendingChangeBody } from './settings.schema.ts';

export const CHANGE_MERCHANT_EXAMPLE = {
  settlement_currency: 'USDC',
  tolerance: '0.05',
  webhook: { url: 'https://shop.example/webhooks' },
  domains: [{ host: 'shop.example', name: 'Shop' }],
} satisfies ChangeMerchantBody;

export const WEBHOOK_ENDPOINT_EXAMPLE = {
  id: 'we_k7w2q5m4n6p3r7s2t5v4',
  url: 'https://shop.example/webhooks',
  durable_redelivery: false,
  events: [
    'payment.completed',
    'payment.failed',
    'payment.expired',
    'payment.cancelled',
    'refund.succeeded',
    'refund.failed',
    'payment.late',
  ] as WebhookEndpointBody['events'],
  fields: [],
  standard_webhooks: false,
  disabled: false,
  suspended: null,
  next_secret_activates_at: null,
} satisfies WebhookEndpointBody;

export const CREATE_ENDPOINT_EXAMPLE = {
  url: 'https://books.example/webhooks',
  events: ['payment.completed', 'refund.succeeded'] as WebhookEndpointBody['events'],
  fields: ['network', 'tx_hash'] as WebhookEndpointBody['fields'],
};

export const NEW_ENDPOINT_EXAMPLE = {
  ...WEBHOOK_ENDPOINT_EXAMPLE,
  ...CREATE_ENDPOINT_EXAMPLE,
  id: 'we_p2r7s2t5v4x6y3z7k7w2',
  webhook_secret: 'whs_test_...',
  standard_webhooks_secret: 'whsec_...',
} satisfies NewWebhookEndpointBody;

export const WEBHOOK_SECRET_EXAMPLE = {
  endpoint_id: WEBHOOK_ENDPOINT_EXAMPLE.id,
  webhook_secret: 'whs_test_...',
  standard_webhooks_secret: 'whsec_...',
  activates_at: 1767312000,
} satisfies WebhookSecretBody;

export const PENDING_CHANGE_EXAMPLE = {
  id: 'chg_k7w2q5m4n6p3r7s2t5v4',
  setting: 'webhook_endpoint' as const,
  change: { endpoint_id: WEBHOOK_ENDPOINT_EXAMPLE.id, url: 'https://new.example/webhooks' },
  requested_at: 1767225660,
  takes_effect_at: 1767229260,
} satisfies PendingChangeBody;

export const MERCHANT_EXAMPLE = {
  id: 'mer_k7w2q5m4n6p3r7s2t5v4',
  name: 'Shop',
  mode: 'test',
  settlement_currency: 'USDC',
  networks: ['ethereum', 'bsc', 'tron', 'solana'],
  offer_both_coins: false,
  offer_tron_usdc: false,
  tolerance: '0.05',
  tolerance_percent: '0.5',
  contact: 'help@shop.example',
  session_ttl_seconds: null,
  ethereum_finalized_from: '10000.00',
  ethereum_confirmations: 12,
  logo: { width: 160, height: 80, bytes: 4211 },
  webhook: WEBHOOK_ENDPOINT_EXAMPLE,
  domains: [{ id: 'dom_k7w2q5m4n6', host: 'shop.example', name: 'Shop' }],
  change_delay_minutes: 60,
  pending_changes: [PENDING_CHANGE_EXAMPLE],
} satisfies MerchantBody;
