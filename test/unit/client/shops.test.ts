import { describe, expect, it } from 'vitest';
import { ModelService } from '../../../packages/client/src/shop-kit.ts';
import {
  asksFor,
  compareAmounts,
  holdsItsMoney,
  isOver,
  isUnderWay,
  mayDeliver,
  moneyToReturn,
} from '../../../packages/client/src/shops.ts';
import type { PaymentSession } from '../../../packages/client/src/wire.ts';

const PRICE = { amount: '10', currency: 'USD' };

/** A session of 10.00 to which this happened at the model of the service. */
async function session(happens: (service: ModelService, id: string) => unknown): Promise<PaymentSession> {
  const service = new ModelService();
  const post = (path: string, body: object) =>
    service.fetch(`https://pay.example${path}`, { method: 'POST', body: JSON.stringify(body) });
  await post('/api/v1/checkout/sessions/create', { amount: '10.00', currency: 'USD', order_id: 'order-1' });
  await happens(service, 'cs_1');
  return service.session('cs_1');
}

function pay(service: ModelService, amount: string): void {
  service.pay('cs_1', amount);
  service.confirm('cs_1');
}

const refund = (service: ModelService, amount: string) =>
  service.fetch('https://pay.example/v1/refunds', {
    method: 'POST',
    body: JSON.stringify({ session_id: 'cs_1', amount: { value: amount, currency: 'USDT' } }),
  });

describe('what a shop decides of a session', () => {
  it.each<[string, (service: ModelService, id: string) => unknown, string]>([
    ['open', () => {}, ''],
    ['on its way', (service, id) => service.pay(id, '10.00'), 'under way'],
    ['short and final', (service) => pay(service, '4.00'), ''],
    ['paid', (service) => pay(service, '10.00'), 'under way, holds, deliver'],
    ['paid too much', (service) => pay(service, '12.00'), 'under way, holds, deliver'],
    [
      'paid, and the surplus returned',
      async (service) => {
        pay(service, '12.00');
        await refund(service, '2.00');
      },
      'under way, holds, deliver',
    ],
    [
      'paid, and a part of the price returned',
      async (service) => {
        pay(service, '10.00');
        await refund(service, '1.00');
      },
      'over',
    ],
    [
      'paid, and gone from the chain',
      (service, id) => {
        pay(service, '10.00');
        service.reverse(id, true);
      },
      'under way',
    ],
    ['expired', (service, id) => service.expire(id), 'over'],
  ])('that is %s', async (_, happens, expected) => {
    const one = await session(happens);
    const found = [
      isUnderWay(one) && 'under way',
      holdsItsMoney(one) && 'holds',
      mayDeliver(one, PRICE) && 'deliver',
      isOver(one) && 'over',
    ];
    expect(found.filter((word) => word !== false).join(', ')).toBe(expected);
  });

  it('delivers what was paid less within a tolerance, until some of it is returned', async () => {
    const paid = await session((service) => pay(service, '10.00'));
    const deposits = paid.deposits.map((one) => ({ ...one, amount: '9.95' }));
    const less = { ...paid, received: '9.95', deposits };
    expect([mayDeliver(less, PRICE), mayDeliver({ ...less, received: '9.90' }, PRICE)]).toEqual([true, false]);
  });

  it('goes by total and currency, whatever their writing', async () => {
    const one = await session(() => {});
    expect([
      asksFor(one, { amount: '10.0000', currency: 'usd' }),
      asksFor(one, { amount: '10.01', currency: 'usd' }),
    ]).toEqual([true, false]);
    expect(asksFor(one, { amount: '10.00', currency: 'eur' })).toBe(false);
    expect([compareAmounts('9.9', '10'), compareAmounts('10.000001', '10')]).toEqual([-1, 1]);
    expect(() => compareAmounts('-1', '1')).toThrow('amount must be');
  });

  it('returns a surplus by the deposits that are surplus as a whole, and the rest by amount', async () => {
    const one = await session((service) => {
      pay(service, '11.00');
      pay(service, '2.50');
    });
    const pieces = moneyToReturn(one, { paysTheOrder: true });
    expect(pieces.map(({ transaction_id: id, amount }) => [id, amount])).toEqual([
      ['tx_cs_1_2', '2.50'],
      [undefined, '1.00'],
    ]);
    expect(moneyToReturn(one, { paysTheOrder: false }).map(({ amount }) => amount)).toEqual(['11.00', '2.50']);
    expect(moneyToReturn(await session((service) => pay(service, '4.00')), { paysTheOrder: false })).toEqual([]);
  });
});
