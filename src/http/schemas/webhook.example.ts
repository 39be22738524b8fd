import type { DeliveryBody, DeliveryDetailBody, EventFeedBody, ReplayBody } from './webhook.schema.ts';
import type { PaymentEventBody } from './event-bodies.schema.ts';

export const PAYMENT_EVENT_EXAMPLE = {
  id: 'evt_1767225660123456789',
  type: 'payment.completed',
  created_at: 1767225660,
  data: {
    object: {
      amount: '10.01',
      status: 'completed',
      currency: 'USDT',
      exchange_rate: '1.0002',
      order_id: 'order-1042',
      session_id: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4',
      source: 'api',
    },
  },
} satisfies PaymentEventBody;

export const DELIVERY_EXAMPLE = {
  id: PAYMENT_EVENT_EXAMPLE.id,
  event_id: PAYMENT_EVENT_EXAMPLE.id,
  endpoint_id: 'we_k7w2q5m4n6p3r7s2t5v4',
  event_type: 'payment.completed',
  session_id: PAYMENT_EVENT_EXAMPLE.data.object.session_id,
  status: 'delivered',
  sample: false,
  attempts: 1,
  last_status: 200,
  last_failure: null,
  next_attempt_at: null,
  created: 1767225660,
} satisfies DeliveryBody;

export const DELIVERY_DETAIL_EXAMPLE = {
  ...DELIVERY_EXAMPLE,
  event: PAYMENT_EVENT_EXAMPLE,
  log: [
    {
      attempt: 1,
      started_at: 1767225660,
      duration_ms: 84,
      status: 200,
      failure: null,
      detail: null,
      address: '203.0.113.9',
      nonce: '6f3b8a0e-5f0c-4b1e-9a53-0d2f1c7a9e44',
      trigger: 'automatic',
      answer: '{"received":true}',
    },
  ],
} satisfies DeliveryDetailBody;

export const EVENT_FEED_EXAMPLE = {
  data: [PAYMENT_EVENT_EXAMPLE],
  pagination: { page_size: 20, has_more: false, next_cursor: 'eyJwIjoxMDQyfQ' },
} satisfies EventFeedBody;

export const REPLAY_EXAMPLE = { created_from: 1767225600, created_to: 1767229200 } satisfies ReplayBody;
