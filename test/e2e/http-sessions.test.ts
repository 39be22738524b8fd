import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey, startTestServer, type TestServer } from '../support/http-api.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const FULL = {
  amount: '10.5',
  currency: 'usd',
  order_id: 'order-1',
  description: 'Two mugs',
  line_items: [
    {
      price_data: { currency: 'USD', unit_amount: '3.50', product_data: { name: 'Mug', description: 'Blue' } },
      quantity: 2,
    },
  ],
  tax_amount: '1.5',
  shipping_amount: '2.00',
  success_url: 'https://shop.example/ok',
  cancel_url: 'https://shop.example/no',
  metadata: { color: 'red' },
};
let service: TestServer;
let orders = 0;
const body = (patch: object) => ({
  amount: '10.00',
  currency: 'USD',
  order_id: `order-${(orders += 1)}-x`,
  ...patch,
});
const create = (patch: object = {}) => service.call('POST', CREATE, body(patch));

beforeAll(async () => {
  service = await startTestServer();
});
afterAll(() => service.close());

describe('create payment session', () => {
  it('returns the session with every field of the specification', async () => {
    const { status, json, headers } = await service.call('POST', CREATE, FULL);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      amount_total: '10.50',
      currency: 'usd',
      payment_status: 'unpaid',
      tax_amount: '1.50',
      shipping_amount: '2.00',
      line_items: FULL.line_items,
      exchange_rate: '1.0002',
      target_currency: 'USDT',
      target_amount_total: '10.51',
      metadata: { color: 'red', order_id: 'order-1' },
    });
    expect(json.id).toMatch(/^cs_[a-z2-7]{32}$/);
    expect(json.url).toBe(`http://127.0.0.1:8080/pay/${json.id}`);
    expect(json.rate_locked_at).toBe(json.created);
    expect(json.expires_at - json.created).toBe(1800);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-request-id')).toMatch(/^req_/);
    expect(headers.get('x-powered-by')).toBeNull();
  });

  it('returns none of the four conversion fields when the order is in the settlement coin', async () => {
    const { json } = await create({ currency: 'USDT', amount: '0.000001' });
    for (const field of ['exchange_rate', 'target_currency', 'target_amount_total', 'rate_locked_at'])
      expect(json).not.toHaveProperty(field);
    expect(json.amount_total).toBe('0.000001');
    expect(json.currency).toBe('usdt');
  });

  it('offers an address, its QR text and wallet links on each network', async () => {
    const { json } = await create();
    const [option] = json.payment_options;
    expect(option).toMatchObject({
      network: 'ethereum',
      coin: 'USDT',
      amount: json.target_amount_total,
      qr_payload: option.address,
      confirmations: 12,
    });
    expect(option.deep_links.eip681).toContain(`@31337/transfer?address=${option.address}`);
    expect(option.deep_links).not.toHaveProperty('trust');
  });

  it('returns the same session if the same order is written differently', async () => {
    const one = await service.call('POST', CREATE, { amount: '7.5', currency: 'eur', order_id: 'same' });
    const other = await service.call('POST', CREATE, { order_id: 'same', currency: 'EUR', amount: '7.50' });
    expect(other.json.id).toBe(one.json.id);
    expect((await service.call('POST', CREATE, { amount: '7.51', currency: 'EUR', order_id: 'same' })).status).toBe(
      409,
    );
  });

  it('returns 503 with Retry-After if there is no rate', async () => {
    const { status, json, headers } = await create({ currency: 'JPY', amount: '100' });
    expect([status, json.error.code, headers.get('retry-after')]).toEqual([503, 'rate_unavailable', '7']);
  });
});

describe('get payment session', () => {
  it('returns the same session under both prefixes', async () => {
    const { json } = await create();
    const got = await service.call('GET', `/api/v1/checkout/sessions/${json.id}`);
    expect(got.json).toEqual(json);
    expect((await service.call('GET', `/api/v1/checkout/sessions/${json.id.replace('cs_', 'sess_')}`)).json).toEqual(
      json,
    );
  });

  it('returns the same 404 for absent, foreign and malformed ids', async () => {
    const { json } = await create();
    const other = service.keys.add(newKey('beta'));
    const live = service.keys.add(newKey('alpha', 'live'));
    const answers = [
      await service.call('GET', `/api/v1/checkout/sessions/${json.id}`, undefined, { key: other }),
      await service.call('GET', `/api/v1/checkout/sessions/${json.id}`, undefined, { key: live }),
      await service.call('POST', `/api/v1/checkout/sessions/${json.id}/cancel`, undefined, { key: other }),
      await service.call('GET', `/api/v1/checkout/sessions/cs_${'a'.repeat(32)}`),
      await service.call('GET', `/api/v1/checkout/sessions/${'x'.repeat(8000)}`),
      await service.call('GET', '/api/v1/checkout/sessions/%zz'),
      await service.call('GET', '/api/v1/checkout/sessions/..%2f..%2fetc'),
      await service.call('POST', '/v1/refunds', { session_id: json.id }, { key: other }),
      await service.call('POST', '/v1/refunds', { session_id: 'nope' }),
    ];
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
    expect(new Set(answers.map((answer) => JSON.stringify({ ...answer.json.error, request_id: 0 }))).size).toBe(1);
  });
});

describe('cancel payment session', () => {
  it('returns the expired session without line items and metadata, once', async () => {
    const { json } = await create({ amounts_differ: true, line_items: FULL.line_items, metadata: { a: 'b' } });
    const cancelled = await service.call('POST', `/api/v1/checkout/sessions/${json.id}/cancel`);
    expect(cancelled.status).toBe(200);
    expect(cancelled.json).toMatchObject({
      id: json.id,
      payment_status: 'unpaid',
      amount_total: '10.00',
      url: json.url,
    });
    expect(cancelled.json.expires_at).toBeLessThan(json.expires_at);
    for (const field of ['line_items', 'metadata', 'description', 'success_url'])
      expect(cancelled.json).not.toHaveProperty(field);
    const again = await service.call('POST', `/api/v1/checkout/sessions/${json.id}/cancel`, '{}');
    expect([again.status, again.json.error.code]).toEqual([400, 'session_expired']);
  });

  it('accepts no fields', async () => {
    const { json } = await create();
    const answer = await service.call('POST', `/api/v1/checkout/sessions/${json.id}/cancel`, { why: 'x' });
    expect([answer.status, answer.json.error.code, answer.json.error.param]).toEqual([400, 'unknown_field', 'why']);
  });
});

describe('refunds', () => {
  it('returns the refund with its payout, and reads it again', async () => {
    const { json } = await create();
    expect((await service.call('POST', '/v1/refunds', { session_id: json.id })).json.error.code).toBe(
      'session_not_paid',
    );
    service.api.pay(json.id);
    const made = await service.call('POST', '/v1/refunds', {
      session_id: json.id,
      amount: { value: '5', currency: 'usdt' },
      reason: 'broken',
    });
    expect(made.json).toMatchObject({
      session_id: json.id,
      amount: { value: '5.00', currency: 'USDT' },
      type: 'partial',
      status: 'PENDING',
      reason: 'broken',
      network: 'ethereum',
      tx_hash: null,
    });
    expect(made.json.to_address).toMatch(/^0x/);
    expect((await service.call('GET', `/v1/refunds/${made.json.id}`)).json).toEqual(made.json);
    expect(
      (await service.call('POST', '/v1/refunds', { session_id: json.id, amount: { value: '50', currency: 'USDT' } }))
        .json.error.code,
    ).toBe('refund_exceeds_paid');
  });
});
