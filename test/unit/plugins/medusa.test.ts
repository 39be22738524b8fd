import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { amountOf } from '../../../plugins/medusa/src/amounts.ts';
import { checkOptions } from '../../../plugins/medusa/src/options.ts';
import { QuittancePaymentProvider } from '../../../plugins/medusa/src/provider.ts';

/* The provider against a model of the service, over the real client: what leaves is what would go over the wire. */

const OPTIONS = { baseUrl: 'https://pay.example', apiKey: 'sk_test_key', apiSecret: 'secret', webhookSecret: 'whs' };
type Json = Record<string, unknown>;

let sessions: Map<string, Json>;
let refunds: Json[];
let refundKeys: Map<string, Json>;
let loseAnswers: boolean;

function answerTo(method: string, path: string, body: Json, key: string): [number, unknown] {
  const found = (id: string): [number, unknown] =>
    sessions.has(id) ? [200, sessions.get(id)] : [404, { error: { code: 'not_found', message: id } }];
  if (path.startsWith('/v1/payment/sessions?')) {
    const of = new URLSearchParams(path.split('?')[1]).get('order_id');
    return [
      200,
      { data: [...sessions.values()].filter((session) => session.order_id === of).toReversed(), pagination: {} },
    ];
  }
  if (path === '/api/v1/checkout/sessions/create') {
    const same = [...sessions.values()].find(({ asked }) => {
      const { order_id: order, supersedes } = asked as Json;
      return order === body.order_id && supersedes === body.supersedes;
    });
    if (same && JSON.stringify(same.asked) !== JSON.stringify(body))
      return [409, { error: { code: 'order_id_conflict', message: 'another body', param: 'order_id' } }];
    const isOver = ({ status }: Json): boolean => status === 'expired' || status === 'cancelled' || status === 'failed';
    if (same)
      return isOver(same)
        ? [400, { error: { code: 'session_expired', message: 'over', param: 'order_id' } }]
        : [200, same];
    if (typeof body.supersedes === 'string' && !isOver(sessions.get(body.supersedes)!))
      return [409, { error: { code: 'conflict', message: 'can still be paid', param: 'supersedes' } }];
    const id = `cs_${sessions.size + 1}`;
    const asked = {
      amount_total: body.amount,
      currency: (body.currency as string).toLowerCase(),
      order_id: body.order_id,
      metadata: body.metadata,
      asked: body,
    };
    sessions.set(id, {
      ...asked,
      id,
      url: `https://pay.example/pay/${id}`,
      status: 'open',
      payment_status: 'unpaid',
      received: '0.00',
      pending: '0.00',
      reversed: false,
    });
    if (typeof body.supersedes === 'string') sessions.get(body.supersedes)!.superseded_by = id;
    return found(id);
  }
  if (path.endsWith('/cancel'))
    return ((sessions.get(path.split('/').at(-2)!)!.status = 'cancelled'), found(path.split('/').at(-2)!));
  if (path.startsWith('/v1/refunds') && method === 'GET') return [200, { data: refunds, pagination: {} }];
  if (path === '/v1/refunds') {
    if (!refundKeys.has(key)) {
      refundKeys.set(key, { id: `re_${refunds.length + 1}`, ...body });
      refunds.push(refundKeys.get(key)!);
    }
    return loseAnswers ? [400, { error: { code: 'lost', message: 'lost' } }] : [200, refundKeys.get(key)];
  }
  return found(path.split('/').at(-1)!);
}

beforeEach(() => {
  [sessions, refunds, refundKeys, loseAnswers] = [new Map(), [], new Map(), false];
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const { pathname, search } = new URL(url);
    const body = typeof init.body === 'string' ? (JSON.parse(init.body) as Json) : {};
    const [status, answer] = answerTo(
      init.method!,
      pathname + search,
      body,
      new Headers(init.headers).get('Idempotency-Key') ?? '',
    );
    return new Response(JSON.stringify(answer), { status, headers: { 'Content-Type': 'application/json' } });
  });
});
afterEach(() => void vi.unstubAllGlobals());

const provider = (more: Json = {}) => new QuittancePaymentProvider({}, { ...OPTIONS, ...more });
const begun = async (more: Json = {}) =>
  (await provider(more).initiatePayment({ amount: 10, currency_code: 'usd', data: { session_id: 'payses_1' } })).data;
const becomes = (id: string, change: Json) => void Object.assign(sessions.get(id)!, change);
const paid = (id: string) => becomes(id, { status: 'paid', payment_status: 'paid', received: '10.01' });

function told(type: string, session: string, secret = 'whs') {
  const body = JSON.stringify({
    id: 'evt_1',
    type,
    data: { object: { session_id: session, order_id: 'payses_1', refund_id: 're_1' } },
  });
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret).update(`${timestamp}.n.${body}`).digest('hex');
  const headers = { 'x-service-timestamp': timestamp, 'x-service-nonce': 'n', 'x-service-signature': signature };
  return { data: JSON.parse(body) as Json, rawData: Buffer.from(body), headers };
}

describe('the Medusa payment provider', () => {
  it("creates a session for Medusa's payment session, and shows the storefront where to pay", async () => {
    const options = {
      successUrl: 'https://shop.example/thanks/{payment_session_id}',
      expiresIn: 900,
      merchantDomainId: 'dom_1',
    };
    const { id, data, status } = await provider(options).initiatePayment({
      amount: { value: '10.005' },
      currency_code: 'usd',
      data: { session_id: 'payses_1' },
    });
    expect({ id, status }).toEqual({ id: 'cs_1', status: 'pending' });
    expect(data).toMatchObject({ id: 'cs_1', session_id: 'payses_1', url: 'https://pay.example/pay/cs_1' });
    expect(sessions.get('cs_1')!.asked).toEqual({
      amount: '10.01',
      currency: 'USD',
      order_id: 'payses_1',
      success_url: 'https://shop.example/thanks/payses_1',
      expires_in: 900,
      merchant_domain_id: 'dom_1',
      metadata: { source: 'medusa' },
    });
    await expect(provider().initiatePayment({ amount: 10, currency_code: 'usd', data: {} })).rejects.toThrow(
      'data.session_id',
    );
  });

  it('authorises and captures only what the service shows as paid', async () => {
    const data = await begun();
    expect((await provider().authorizePayment({ data })).status).toBe('pending');
    await expect(provider().capturePayment({ data })).rejects.toThrow('is not paid (pending)');
    paid('cs_1');
    expect((await provider().authorizePayment({ data })).status).toBe('captured');
    expect((await provider().capturePayment({ data })).data).toEqual(data);
    becomes('cs_1', { reversed: true });
    expect((await provider().getPaymentStatus({ data })).status).toBe('pending');
    await expect(provider().authorizePayment({ data: { ...data, session_id: 'payses_2' } })).rejects.toThrow(
      'was not made for payses_2',
    );
  });

  it.each([
    ['expired', 'error'],
    ['failed', 'error'],
    ['cancelled', 'canceled'],
    ['processing', 'pending'],
  ])('shows a session that is %s as %s', async (status, shown) => {
    const data = await begun();
    becomes('cs_1', { status });
    expect((await provider().getPaymentStatus({ data })).status).toBe(shown);
  });

  it('closes the session and makes another when the amount changes, unless there is money', async () => {
    const data = await begun();
    expect((await provider().updatePayment({ amount: 10, currency_code: 'usd', data })).data).toEqual(data);
    const next = await provider().updatePayment({ amount: '12.5', currency_code: 'usd', data });
    expect([sessions.get('cs_1')!.status, sessions.get('cs_2')!.asked]).toMatchObject([
      'cancelled',
      { amount: '12.50', supersedes: 'cs_1', order_id: 'payses_1' },
    ]);
    becomes('cs_2', { status: 'processing', pending: '12.50' });
    await expect(provider().updatePayment({ amount: 13, currency_code: 'usd', data: next.data })).rejects.toThrow(
      'has money already',
    );
    expect(sessions.size).toBe(2);
  });

  it('creates another session if responses were lost and their sessions have ended', async () => {
    const data = await begun();
    expect((await begun()).id).toBe('cs_1');
    becomes('cs_1', { status: 'expired' });
    const [second] = [await begun()];
    expect([second.id, sessions.get('cs_2')!.asked]).toMatchObject([
      'cs_2',
      { supersedes: 'cs_1', order_id: 'payses_1' },
    ]);
    becomes('cs_2', { status: 'cancelled' });
    expect((await provider().updatePayment({ amount: 10, currency_code: 'usd', data })).data).toMatchObject({
      id: 'cs_3',
    });
    expect(sessions.get('cs_3')!.asked).toMatchObject({ supersedes: 'cs_2' });
  });

  it('continues with the newest session when several responses were lost', async () => {
    await begun();
    becomes('cs_1', { status: 'expired' });
    await begun();
    expect((await begun()).id).toBe('cs_2');
    paid('cs_2');
    expect((await begun()).id).toBe('cs_2');
    becomes('cs_2', { status: 'failed', payment_status: 'unpaid', received: '0.00' });
    expect([(await begun()).id, sessions.get('cs_3')!.asked]).toMatchObject(['cs_3', { supersedes: 'cs_2' }]);
    expect(sessions.size).toBe(3);
  });

  it('cancels the newest session of another amount whose response was lost, unless there is money', async () => {
    const data = await begun();
    await provider().updatePayment({ amount: 11, currency_code: 'usd', data });
    const next = await provider().updatePayment({ amount: 12, currency_code: 'usd', data });
    expect([next.data.id, sessions.get('cs_2')!.status, sessions.get('cs_3')!.asked]).toMatchObject([
      'cs_3',
      'cancelled',
      { amount: '12.00', supersedes: 'cs_2' },
    ]);
    becomes('cs_3', { status: 'processing', pending: '12.00' });
    await expect(begun()).rejects.toThrow('cs_3 has money already');
    expect(sessions.size).toBe(3);
  });

  it("passes on the service's error if no session of the order is listed", async () => {
    await begun();
    becomes('cs_1', { status: 'expired', order_id: 'another' });
    await expect(begun()).rejects.toThrow('over');
  });

  it('creates another session if the first one expired', async () => {
    const data = await begun();
    becomes('cs_1', { status: 'expired' });
    expect((await provider().updatePayment({ amount: 10, currency_code: 'usd', data })).data).toMatchObject({
      id: 'cs_2',
    });
  });

  it('cancels what nobody paid, and refuses where there is money', async () => {
    const data = await begun();
    await provider().deletePayment({ data });
    expect(sessions.get('cs_1')!.status).toBe('cancelled');
    await provider().cancelPayment({ data });
    paid('cs_1');
    await expect(provider().cancelPayment({ data })).rejects.toThrow('refunded and not cancelled');
  });

  it('refunds in the currency of the order, each under a key of its own', async () => {
    const first = await provider().refundPayment({ amount: 4, data: await begun() });
    const second = await provider().refundPayment({ amount: 4, data: first.data });
    expect(refunds.map(({ amount }) => amount)).toEqual([
      { value: '4.00', currency: 'USD' },
      { value: '4.00', currency: 'USD' },
    ]);
    expect(second.data.refunds).toEqual(['re_1', 're_2']);
  });

  it('never refunds twice if no response came', async () => {
    const data = await begun();
    loseAnswers = true;
    await expect(provider().refundPayment({ amount: 4, data })).rejects.toThrow('lost');
    await expect(provider().refundPayment({ amount: 5, data })).rejects.toThrow('refund that amount again first');
    loseAnswers = false;
    expect((await provider().refundPayment({ amount: 4, data })).data.refunds).toEqual(['re_1']);
    expect(refunds).toHaveLength(1);
  });

  it('reports a payment to Medusa only if the event is genuine and the service shows it', async () => {
    await begun();
    await expect(provider().getWebhookActionAndData(told('payment.completed', 'cs_1', 'another'))).rejects.toThrow(
      'signature',
    );
    await expect(provider().getWebhookActionAndData(told('payment.completed', 'cs_1'))).rejects.toThrow(
      'does not show as paid yet',
    );
    paid('cs_1');
    const captured = { action: 'captured', data: { session_id: 'payses_1', amount: '10.00' } };
    expect(await provider().getWebhookActionAndData(told('payment.completed', 'cs_1'))).toEqual(captured);
    for (const type of ['payment.expired', 'payment.late', 'refund.succeeded'])
      expect(await provider().getWebhookActionAndData(told(type, 'cs_1'))).toEqual({ action: 'not_supported' });
  });

  it.each([
    ['payment.processing', 'pending'],
    ['payment.expired', 'failed'],
    ['payment.cancelled', 'canceled'],
  ])('turns %s into %s', async (type, action) => {
    await begun();
    expect(await provider().getWebhookActionAndData(told(type, 'cs_1'))).toMatchObject({
      action,
      data: { session_id: 'payses_1' },
    });
  });

  it('ignores sessions that are not from Medusa, and those with a successor', async () => {
    const data = await begun();
    await provider().updatePayment({ amount: 12, currency_code: 'usd', data });
    paid('cs_1');
    expect(await provider().getWebhookActionAndData(told('payment.completed', 'cs_1'))).toEqual({
      action: 'not_supported',
    });
    paid('cs_2');
    becomes('cs_2', { metadata: {} });
    expect(await provider().getWebhookActionAndData(told('payment.completed', 'cs_2'))).toEqual({
      action: 'not_supported',
    });
  });

  it('logs a warning for what Medusa has no state for', async () => {
    const warn = vi.fn();
    await new QuittancePaymentProvider({ logger: { warn } }, OPTIONS).getWebhookActionAndData(
      told('refund.failed', 'cs_1'),
    );
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('re_1 failed'));
  });
});

describe('amounts', () => {
  it.each([
    [10, 'usd', '10.00'],
    ['12.345', 'eur', '12.35'],
    ['12.344', 'eur', '12.34'],
    ['999999999999.995', 'usd', '1000000000000.00'],
    [1500.4, 'jpy', '1500'],
    [{ value: '0.1234567' }, 'usdt', '0.123457'],
    [{ numeric: 7.5 }, 'kwd', '7.500'],
    [{ toFixed: () => '3.1' }, 'usd', '3.10'],
  ])('%j %s is %s', (amount, currency, text) => expect(amountOf(amount, currency)).toBe(text));

  it.each([-1, 'ten', NaN, 1e30])('refuses %s', (amount) =>
    expect(() => amountOf(amount, 'usd')).toThrow('amount must be'),
  );
});

describe('options', () => {
  it.each([
    ['baseUrl', { baseUrl: '' }],
    ['baseUrl', { baseUrl: 'http://pay.example' }],
    ['baseUrl', { baseUrl: 'http://127.0.0.1:8080', apiKey: 'sk_live_1' }],
    ['apiKey', { apiKey: 'key' }],
    ['apiSecret', { apiSecret: undefined }],
    ['webhookSecret', { webhookSecret: [] }],
    ['expiresIn', { expiresIn: 59 }],
  ])('names %s if it is wrong: %j', (name, change) =>
    expect(() => checkOptions({ ...OPTIONS, ...change })).toThrow(name),
  );

  it('accepts valid options', () => {
    expect(() =>
      checkOptions({ ...OPTIONS, baseUrl: 'http://127.0.0.1:8080', webhookSecret: ['old', 'new'], expiresIn: 60 }),
    ).not.toThrow();
  });
});
