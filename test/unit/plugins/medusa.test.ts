import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { amountOf, difference, sumOf } from '../../../plugins/medusa/src/amounts.ts';
import { comparePayments } from '../../../plugins/medusa/src/compare.ts';
import { acknowledgeSender, allToReturn, returnMoney, shownMoney } from '../../../plugins/medusa/src/money.ts';
import { checkOptions } from '../../../plugins/medusa/src/options.ts';
import { QuittancePaymentProvider } from '../../../plugins/medusa/src/provider.ts';
import { CARD, messageOf, ModelMedusa, OPTIONS, type Cart } from '../../support/model-medusa.ts';

/* The plugin in a model of Medusa, over the real client against the client's own model of the service. */

let shop: ModelMedusa;

beforeEach(() => {
  shop = new ModelMedusa();
  vi.stubGlobal('fetch', shop.service.fetch);
  // Nothing here waits for time: the client's pauses and the plugin's own only let others go first.
  vi.stubGlobal('setTimeout', (run: () => void) => setImmediate(run));
});
afterEach(() => void vi.unstubAllGlobals());

const idOf = ({ data }: { data: object }): string => String(Reflect.get(data, 'id'));

/** A cart whose customer was sent to the payment page. */
async function begun(...lines: string[]): Promise<{ cart: Cart; id: string }> {
  const cart = shop.cart(...lines);
  return { cart, id: idOf(await shop.initiate(cart)) };
}

async function paid(...lines: string[]): Promise<{ cart: Cart; id: string }> {
  const payment = await begun(...lines);
  shop.service.pay(payment.id, shop.service.session(payment.id).amount_total);
  shop.service.confirm(payment.id);
  return payment;
}

async function ordered(...lines: string[]) {
  const { cart, id } = await paid(...lines);
  return { order: await shop.complete(cart), cart, id };
}

/** What happens now happened an hour ago for everybody else. */
const anHourAgo = (): void => void (shop.service.nowSec -= 3600);

describe('an order is placed for what was paid', () => {
  it('completes a cart that is paid, once, by the message or by the return', async () => {
    const { cart, id } = await begun('10.00');
    await expect(shop.complete(cart)).rejects.toThrow('is not paid (open)');
    shop.service.pay(id, '10.00');
    await expect(shop.complete(cart)).rejects.toThrow('is not paid (processing)');
    shop.service.confirm(id);
    for (const message of shop.queue.splice(0)) await shop.process(message);
    const order = shop.order(cart);
    expect([order?.total, await shop.complete(cart)]).toEqual(['10.00', order]);
  });

  it('takes no item into a cart whose payment is under way, the second time either', async () => {
    const { cart, id } = await begun('6.38');
    shop.service.pay(id, '6.38');
    for (let time = 0; time < 2; time += 1)
      await expect(shop.change(cart, '6.38', '1234.55')).rejects.toThrow('a payment is under way for this cart');
    shop.service.confirm(id);
    expect((await shop.complete(cart)).total).toBe('6.38');
  });

  it('does not change a cart while the service cannot be asked', async () => {
    const { cart, id } = await begun('17.84');
    shop.service.fault = 'away';
    for (let time = 0; time < 2; time += 1)
      await expect(shop.change(cart, '17.84', '23.79')).rejects.toThrow('gave no answer');
    shop.service.fault = 'none';
    shop.service.pay(id, '17.84');
    shop.service.confirm(id);
    expect((await shop.complete(cart)).total).toBe('17.84');
  });

  it('refuses a cart that costs something else, however it came to that, and takes no money for it', async () => {
    const { cart } = await paid('6.38');
    cart.lines = ['6.38', '1234.55'];
    await expect(shop.complete(cart)).rejects.toThrow('paid 6.38 USD, but the cart costs 1240.93 USD by now');
    cart.lines = ['6.37'];
    await expect(shop.complete(cart)).rejects.toThrow('costs 6.37 USD');
    expect([shop.orders, shop.refunds, shop.service.refunds()]).toEqual([[], [], []]);
    cart.lines = ['6.38'];
    expect((await shop.complete(cart)).total).toBe('6.38');
  });

  it('authorises nothing for a collection of another amount', async () => {
    const { cart } = await paid('6.38');
    shop.collections[0]!.amount = '1475.49';
    await expect(shop.authorize(shop.sessions[0]!)).rejects.toThrow('costs 1475.49 USD');
    expect(cart.orderId).toBeNull();
  });

  it('reads the cart after the service has answered', async () => {
    const { cart } = await paid('6.38');
    const asked = shop.service.fetch;
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      const answer = await asked(url, init);
      cart.lines = ['1475.49'];
      return answer;
    });
    await expect(shop.complete(cart)).rejects.toThrow('costs 1475.49 USD');
  });

  it('refuses what left the chain again', async () => {
    const { cart, id } = await paid('10.00');
    shop.service.reverse(id, true);
    await expect(shop.complete(cart)).rejects.toThrow('is not paid (paid)');
    shop.service.reverse(id, false);
    expect((await shop.complete(cart)).total).toBe('10.00');
  });
});

describe('a payment whose money went back is over', () => {
  it('buys nothing, whether or not Medusa authorised it, and the cart can be paid anew', async () => {
    const { cart, id } = await paid('10.00');
    shop.soldOut = true;
    await expect(shop.complete(cart)).rejects.toThrow('sold out');
    await shop.authorize(shop.sessions[0]!);
    await shop.refundPayment(shop.payments[0]!, '10.00');
    shop.soldOut = false;
    await expect(shop.complete(cart)).rejects.toThrow('is not paid');
    expect(shop.orders).toEqual([]);
    const next = idOf(await shop.initiate(cart));
    expect(next).not.toBe(id);
    shop.service.pay(next, '10.00');
    shop.service.confirm(next);
    expect((await shop.complete(cart)).total).toBe('10.00');
    expect(shop.service.refunds()).toHaveLength(1);
  });

  it('keeps the payment of a cart that is sold out, for when it is there again', async () => {
    anHourAgo();
    const { cart } = await paid('10.00');
    shop.soldOut = true;
    for (const message of shop.queue.splice(0)) await shop.process(message);
    await comparePayments(shop.scope, shop.provider);
    expect([shop.orders, shop.service.refunds()]).toEqual([[], []]);
    expect(shop.said.map(({ text }) => text)).toEqual([expect.stringContaining('10.00 USDT')]);
    shop.soldOut = false;
    expect((await shop.complete(cart)).total).toBe('10.00');
  });
});

describe('refunds', () => {
  it('are two when two equal ones run together', async () => {
    const { order } = await ordered('10.00');
    await Promise.all([shop.refund(order, '4.00'), shop.refund(order, '4.00')]);
    expect(shop.service.refunds().map(({ amount }) => amount.value)).toEqual(['4.00', '4.00']);
    expect(shop.refunds.map(({ metadata }) => metadata)).toEqual([
      { quittance_refund_id: 're_1' },
      { quittance_refund_id: 're_2' },
    ]);
  });

  it('are one when no answer came and the same amount is asked for again', async () => {
    const { order } = await ordered('10.00');
    shop.service.fault = 'lose';
    await expect(shop.refund(order, '4.00')).rejects.toThrow('gave no answer');
    shop.service.fault = 'none';
    expect(shop.refunds).toEqual([]);
    const asked = shop.service.fetch;
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      if (init.method === 'POST') shop.service.fault = 'lose';
      return asked(url, init).finally(() => (shop.service.fault = 'none'));
    });
    await expect(shop.refund(order, '4.00')).rejects.toThrow('refund the same amount again, it is never paid twice');
    vi.stubGlobal('fetch', asked);
    await shop.refund(order, '4.00');
    expect(shop.service.refunds()).toHaveLength(1);
    await shop.refund(order, '4.00');
    expect(shop.service.refunds()).toHaveLength(2);
  });

  it('give back the whole in parts, however the parts are rounded', async () => {
    const { order } = await ordered('6.375');
    for (let part = 0; part < 3; part += 1) await shop.refund(order, '2.125');
    expect(shop.service.refunds().map(({ amount }) => amount.value)).toEqual(['2.13', '2.12', '2.13']);
    expect(shop.service.session('cs_1').received).toBe('0.00');
  });

  it('go to a contract only after a person said so, and the cancelled order waits for that', async () => {
    const { cart, id } = await begun('10.00');
    shop.service.pay(id, '10.00', 'contract');
    shop.service.confirm(id);
    const order = await shop.complete(cart);
    await expect(shop.refund(order, '10.00')).rejects.toThrow('The paying address can receive refunds');
    await expect(shop.cancel(order)).rejects.toThrow('the order was not cancelled');
    expect(order.status).toBe('pending');
    await acknowledgeSender(shop.scope, order.id);
    await shop.cancel(order);
    expect([order.status, shop.service.session(id).received]).toEqual(['canceled', '0.00']);
  });

  it('are refused to a payment that is a copy of another', async () => {
    const { cart: original } = await ordered('10.00');
    const { order, cart } = await ordered('10.00');
    const copied = shop.payments.find(({ payment_collection_id: id }) => id === cart.collectionId)!;
    copied.data = shop.payments.find(({ payment_collection_id: id }) => id === original.collectionId)!.data;
    await expect(shop.refund(order, '10.00')).rejects.toThrow('was made for another order');
    expect(shop.service.refunds()).toEqual([]);
  });
});

describe('an address that a payer has seen', () => {
  it('stays when the checkout is opened again', async () => {
    const { cart, id } = await begun('19.75');
    for (let time = 0; time < 3; time += 1) expect(idOf(await shop.initiate(cart))).toBe(id);
    expect(shop.service.sessions().map(({ status }) => status)).toEqual(['open']);
    shop.service.pay(id, '19.75');
    expect(idOf(await shop.initiate(cart))).toBe(id);
    shop.service.confirm(id);
    expect((await shop.complete(cart)).total).toBe('19.75');
  });

  it('is the same for two requests at once', async () => {
    const cart = shop.cart('5.00');
    const rows = await Promise.allSettled([shop.initiate(cart), shop.initiate(cart)]);
    const ids = rows.flatMap((row) => (row.status === 'fulfilled' ? [idOf(row.value)] : []));
    expect(new Set(ids)).toEqual(new Set(['cs_1']));
  });

  it('is replaced for another price, and the old one closed', async () => {
    const { cart, id } = await begun('10.00');
    await shop.change(cart, '12.50');
    const next = idOf(await shop.initiate(cart));
    expect([shop.service.session(id).status, shop.service.session(next)]).toMatchObject([
      'cancelled',
      { amount_total: '12.50', supersedes: id, status: 'open' },
    ]);
  });

  it('is refused to another way of paying while money is under way', async () => {
    const { cart, id } = await begun('10.00');
    shop.service.pay(id, '10.00');
    await expect(shop.initiate(cart, CARD)).rejects.toThrow('Could not delete');
    expect(shop.service.session(id).status).toBe('processing');
  });

  it('is replaced once it is over', async () => {
    const { cart, id } = await begun('10.00');
    shop.service.expire(id);
    expect(shop.service.session(idOf(await shop.initiate(cart)))).toMatchObject({ supersedes: id, status: 'open' });
  });
});

describe('a short payment', () => {
  it('blocks neither a change of the cart nor another way of paying, and is said to go back', async () => {
    const { cart, id } = await begun('10.00');
    shop.service.pay(id, '4.00');
    await expect(shop.change(cart, '5.00')).rejects.toThrow('is under way');
    shop.service.confirm(id);
    await shop.change(cart, '5.00');
    const next = idOf(await shop.initiate(cart));
    expect([shop.service.session(id).status, next]).toEqual(['cancelled', 'cs_2']);
    await shop.initiate(cart, CARD);
    await shop.complete(cart);
    await comparePayments(shop.scope, shop.provider);
    expect(shop.said.map(({ text }) => text)).toEqual([expect.stringContaining('4.00 USDT')]);
    expect(await returnMoney(shop.scope, cart.orderId!, false)).toBe(1);
    expect(shop.service.refunds()).toMatchObject([{ session_id: id, amount: { value: '4.00' } }]);
  });

  it('that ended blocks nothing', async () => {
    const { cart, id } = await begun('10.00');
    shop.service.pay(id, '4.00');
    shop.service.confirm(id);
    shop.service.expire(id);
    await shop.change(cart, '12.00');
    expect(shop.service.session(idOf(await shop.initiate(cart)))).toMatchObject({ supersedes: id });
  });
});

describe('messages', () => {
  it('are refused when they are not genuine or too old as they arrive', async () => {
    const nowSec = Math.floor(Date.now() / 1000);
    const object = { session_id: 'cs_1' };
    expect(await shop.receive(messageOf('payment.completed', object, nowSec, 'another'))).toBe(401);
    expect(await shop.receive(messageOf('payment.completed', object, nowSec - 301))).toBe(401);
    expect(await shop.receive(messageOf('payment.completed', object, nowSec))).toBe(200);
  });

  it('may wait in a queue for as long as they want', async () => {
    const { cart, id } = await paid('10.00');
    const hourAgo = Math.floor(Date.now() / 1000) - 3600;
    await shop.process(messageOf('payment.completed', { session_id: id }, hourAgo));
    expect(shop.order(cart)?.total).toBe('10.00');
    await expect(shop.process(messageOf('payment.completed', { session_id: id }, hourAgo, 'another'))).rejects.toThrow(
      'signature',
    );
  });

  it('say nothing that the service does not show, and nothing about others', async () => {
    const { id } = await begun('10.00');
    const told = (type: string, session: string) =>
      shop.provider.getWebhookActionAndData({ data: {}, ...messageOf(type, { session_id: session }, 1) });
    await expect(told('payment.completed', id)).rejects.toThrow('does not show as paid');
    expect(await told('payment.expired', id)).toEqual({
      action: 'failed',
      data: { session_id: shop.sessions[0]!.id, amount: '10.00' },
    });
    shop.service.pay(id, '10.00');
    shop.service.confirm(id);
    for (const type of ['payment.expired', 'payment.late', 'refund.succeeded'])
      expect(await told(type, id)).toEqual({ action: 'not_supported' });
    expect((await told('payment.completed', id)).action).toBe('authorized');
    shop.sessions.length = 0;
    expect(await told('payment.completed', id)).toEqual({ action: 'not_supported' });
  });
});

describe('the comparing job', () => {
  it('completes a paid cart that no message completed', async () => {
    // Medusa may be completing this one at the moment.
    const { cart: fresh } = await paid('7.00');
    anHourAgo();
    const { cart } = await paid('10.00');
    await comparePayments(shop.scope, shop.provider);
    expect([shop.order(cart)?.total, shop.order(fresh), shop.said]).toEqual(['10.00', undefined, []]);
  });

  it('closes what nobody needs, and says late money once', async () => {
    anHourAgo();
    const { cart, id } = await begun('19.75');
    await shop.initiate(cart, CARD);
    await shop.complete(cart);
    await comparePayments(shop.scope, shop.provider);
    expect(shop.service.session(id).status).toBe('cancelled');
    shop.service.pay(id, '19.75');
    shop.service.confirm(id);
    for (let time = 0; time < 2; time += 1) await comparePayments(shop.scope, shop.provider);
    expect(shop.said.map(({ text }) => text)).toEqual([expect.stringContaining('19.75 USDT')]);
  });

  it('says money that has no order, reversals, and refunds that failed or that Medusa did not make', async () => {
    const { order, id } = await ordered('10.00');
    await shop.refund(order, '4.00');
    shop.service.failRefund('re_1');
    await shop.provider.quittance.refunds.create({ session_id: id, amount: { value: '1.00', currency: 'USD' } });
    shop.service.reverse(id, true);
    const left = await paid('7.00');
    shop.sessions.splice(
      shop.sessions.findIndex((row) => idOf(row) === left.id),
      1,
    );
    await comparePayments(shop.scope, shop.provider);
    expect(shop.said.map(({ text }) => text).toSorted()).toEqual([
      expect.stringContaining('7.00 USDT'),
      expect.stringContaining('Do not deliver'),
      expect.stringContaining('Refund re_1 of 4.00 USDT'),
      expect.stringContaining('re_2 of 1.00 USDT'),
    ]);
  });
});

describe('the admin', () => {
  it('shows state, transfers and refunds, and returns what pays nothing and never what pays', async () => {
    const { order, id, cart } = await ordered('10.00');
    shop.service.pay(id, '2.00');
    shop.service.confirm(id);
    const [before] = await shownMoney(shop.scope, order.id);
    expect(before).toMatchObject({
      status: 'paid',
      pays_the_order: true,
      deposits: [{ tx_hash: 'hash-cs_1-1' }, { tx_hash: 'hash-cs_1-2' }],
      to_return: [{ amount: '2.00', coin: 'USDT' }],
    });
    expect((await allToReturn(shop.scope)).map(({ place }) => place)).toEqual([cart.collectionId]);
    expect(await returnMoney(shop.scope, order.id, false)).toBe(1);
    expect(await returnMoney(shop.scope, order.id, false)).toBe(0);
    expect(shop.service.session(id).received).toBe('10.00');
  });

  it('returns a surplus to whoever sent it, and only the rest of it as part of what paid', async () => {
    const { cart, id } = await begun('10.00');
    shop.service.pay(id, '12.00', 'contract');
    shop.service.confirm(id);
    const order = await shop.complete(cart);
    shop.service.pay(id, '2.50');
    shop.service.confirm(id);
    await expect(returnMoney(shop.scope, order.id, false)).rejects.toThrow('is a contract');
    expect(shop.service.refunds()).toMatchObject([
      { amount: { value: '2.50' }, reason: 'Returned by the shop: tx_cs_1_2' },
    ]);
    await returnMoney(shop.scope, order.id, true);
    expect(shop.service.session(id).received).toBe('10.00');
  });

  it('sends a refund that failed again, once', async () => {
    const { order } = await ordered('10.00');
    await shop.refund(order, '4.00');
    shop.service.failRefund('re_1');
    expect([await returnMoney(shop.scope, order.id, false), await returnMoney(shop.scope, order.id, false)]).toEqual([
      1, 0,
    ]);
    expect(shop.service.session('cs_1').received).toBe('6.00');
  });

  it.each(['refund', 'change', 'initiate'] as const)('is told why a %s is refused', async (what) => {
    const { order, cart } = await ordered('10.00');
    shop.service.fault = 'away';
    const refused =
      what === 'refund'
        ? shop.refund(order, '1.00')
        : what === 'change'
          ? shop.provider.getPaymentStatus({ data: shop.payments[0]!.data })
          : shop.provider.updatePayment({ amount: 1, currency_code: 'usd', data: shop.payments[0]!.data });
    await expect(refused).rejects.toMatchObject({ __isMedusaError: true, type: 'unexpected_state' });
    expect(cart.orderId).toBe(order.id);
  });
});

it('a currency without a rate is told as such, and not as a service without an answer', async () => {
  const error = { code: 'rate_unavailable', message: 'No usable exchange rate for XOF.' };
  vi.stubGlobal('fetch', (_: string, { method }: RequestInit) =>
    Promise.resolve(method === 'POST' ? Response.json({ error }, { status: 503 }) : Response.json({ data: [] })),
  );
  await expect(shop.initiate(shop.cart('10.00'))).rejects.toMatchObject({
    type: 'unexpected_state',
    message: expect.stringContaining('No usable exchange rate') as string,
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

  it('are added before they are rounded', () => {
    expect([sumOf(['2.125', '2.125'], 'usd'), sumOf([], 'jpy'), difference('4.25', '2.13')]).toEqual([
      '4.25',
      '0',
      '2.12',
    ]);
  });
});

describe('options', () => {
  it.each([
    ['baseUrl', { baseUrl: '' }],
    ['baseUrl', { baseUrl: 'http://pay.example' }],
    ['baseUrl', { baseUrl: 'http://127.0.0.1:8080', apiKey: 'sk_live_1' }],
    ['apiKey', { apiKey: 'key' }],
    ['apiSecret', { apiSecret: undefined }],
    ['webhookSecret', { webhookSecret: [] }],
    ['webhookSecret', { webhookSecret: ['old', ''] }],
    ['expiresIn', { expiresIn: 59 }],
    ['successUrl', { successUrl: '/checkout/paid' }],
    ['cancelUrl', { cancelUrl: 'http://shop.example' }],
    ['merchantDomainId', { merchantDomainId: 7 }],
    ['webhooksecret', { webhooksecret: 'whs' }],
  ])('names %s if it is wrong: %j', (name, change) =>
    expect(() => checkOptions({ ...OPTIONS, ...change })).toThrow(name),
  );

  it('accepts valid options', () => {
    const valid = { baseUrl: 'http://127.0.0.1:8080', webhookSecret: ['old', 'new'], expiresIn: 60 };
    expect(() =>
      checkOptions({ ...OPTIONS, ...valid, successUrl: 'https://s.example/{payment_session_id}' }),
    ).not.toThrow();
  });

  it('are asked about at the start: refused credentials stop it, a service that is away does not', async () => {
    await QuittancePaymentProvider.validateOptions(OPTIONS);
    shop.service.fault = 'away';
    vi.spyOn(process, 'emitWarning').mockReturnValue();
    await QuittancePaymentProvider.validateOptions(OPTIONS);
    const refusing = () =>
      Promise.resolve(Response.json({ error: { code: 'unauthorized', message: 'no' } }, { status: 401 }));
    vi.stubGlobal('fetch', refusing);
    await expect(QuittancePaymentProvider.validateOptions(OPTIONS)).rejects.toThrow('apiKey or apiSecret');
    vi.stubGlobal('fetch', () => Promise.resolve(new Response('<html>', { status: 404 })));
    await expect(QuittancePaymentProvider.validateOptions(OPTIONS)).rejects.toThrow('baseUrl is wrong');
  });
});
