import type { CreateRefundBody, RefundBody } from './refund.schema.ts';

export const CREATE_REFUND_EXAMPLE = {
  session_id: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4',
  amount: { value: '5.00', currency: 'USDT' },
  reason: 'One mug arrived broken',
} satisfies CreateRefundBody;

const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

export const REFUND_EXAMPLE = {
  id: 're_k7w2q5m4n6p3r7s2t5v4x6y3z7',
  session_id: CREATE_REFUND_EXAMPLE.session_id,
  order_id: 'order-1042',
  amount: { value: '5.00', currency: 'USDT' },
  amount_returned: '0.00',
  type: 'partial',
  status: 'PENDING',
  reason: CREATE_REFUND_EXAMPLE.reason,
  network: 'ethereum',
  to_address: PAYER,
  tx_hash: null,
  network_fee: null,
  payouts: [
    {
      network: 'ethereum',
      coin: 'USDT',
      to_address: PAYER,
      amount: '5.00',
      status: 'PENDING',
      tx_hash: null,
      network_fee: null,
      network_fee_currency: 'ETH',
      explorer_url: null,
      failure_reason: null,
    },
  ],
  created: 1767226800,
  updated: 1767226800,
  failure_reason: null,
} satisfies RefundBody;
