import type { CancelledSessionBody, CreateSessionBody, PaymentSessionBody } from './session.schema.ts';

/* One order used in all examples: the same shop, order and amounts. */

export const CREATE_SESSION_EXAMPLE = {
  amount: '10.00',
  currency: 'USD',
  order_id: 'order-1042',
  description: 'Two mugs',
  line_items: [
    {
      price_data: { currency: 'USD', unit_amount: '3.50', product_data: { name: 'Mug', description: 'Blue' } },
      quantity: 2,
    },
  ],
  tax_amount: '1.00',
  shipping_amount: '2.00',
  success_url: 'https://shop.example/thanks',
  cancel_url: 'https://shop.example/cart',
  metadata: { customer: 'c-1042' },
} satisfies CreateSessionBody;

const SESSION_ID = 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4';
const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';

export const CANCELLED_SESSION_EXAMPLE = {
  id: SESSION_ID,
  amount_total: '10.00',
  currency: 'usd',
  payment_status: 'unpaid',
  created: 1767225600,
  expires_at: 1767226200,
  url: `https://pay.example/pay/${SESSION_ID}`,
  tax_amount: '1.00',
  shipping_amount: '2.00',
  exchange_rate: '1.0002',
  target_currency: 'USDT',
  target_amount_total: '10.01',
  rate_locked_at: 1767225600,
  order_id: 'order-1042',
  status: 'cancelled',
  settlement_currency: 'USDT',
  received: '0.00',
  pending: '0.00',
  excess: '0.00',
  refunded: '0.00',
  refundable: '0.00',
  refundable_amounts: [
    { value: '0.00', currency: 'USDT' },
    { value: '0.00', currency: 'USDC' },
  ],
  reversed: false,
  after_expiry: false,
  payment_options: [
    {
      network: 'ethereum',
      coin: 'USDT',
      token_address: USDT,
      chain_id: '1',
      decimals: 6,
      address: ADDRESS,
      amount: '10.01',
      qr_payload: ADDRESS,
      deep_links: { eip681: `ethereum:${USDT}@1/transfer?address=${ADDRESS}&uint256=10010000` },
      finality: 'confirmations',
      confirmations: 12,
      simulated: false,
    },
  ],
  deposits: [],
} satisfies CancelledSessionBody;

export const SESSION_EXAMPLE = {
  ...CANCELLED_SESSION_EXAMPLE,
  expires_at: 1767227400,
  status: 'open',
  line_items: CREATE_SESSION_EXAMPLE.line_items,
  description: 'Two mugs',
  success_url: 'https://shop.example/thanks',
  cancel_url: 'https://shop.example/cart',
  metadata: { customer: 'c-1042', order_id: 'order-1042' },
} satisfies PaymentSessionBody;
