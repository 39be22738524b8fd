import type { ChangeMerchantBody, MerchantBody } from './merchant.schema.ts';

export const CHANGE_MERCHANT_EXAMPLE = {
  settlement_currency: 'USDC',
  tolerance: '0.05',
  webhook: { url: 'https://shop.example/webhooks' },
  domains: [{ host: 'shop.example', name: 'Shop' }],
} satisfies ChangeMerchantBody;

export const MERCHANT_EXAMPLE = {
  id: 'mer_k7w2q5m4n6p3r7s2t5v4',
  name: 'Shop',
  mode: 'test',
  settlement_currency: 'USDC',
  networks: ['ethereum', 'bsc', 'tron', 'solana'],
  offer_tron_usdc: false,
  tolerance: '0.05',
  session_ttl_seconds: null,
  ethereum_finalized_from: '10000.00',
  ethereum_confirmations: 12,
  webhook: {
    url: 'https://shop.example/webhooks',
    durable_redelivery: false,
    events: ['payment.late'],
    suspended: null,
    next_secret_activates_at: null,
  },
  domains: [{ id: 'dom_k7w2q5m4n6', host: 'shop.example', name: 'Shop' }],
} satisfies MerchantBody;
