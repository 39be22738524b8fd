import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { comparePayments } from '../../../plugins/medusa/src/compare.ts';
import { acknowledgeSender, returnMoney } from '../../../plugins/medusa/src/money.ts';
import { CARD, cents, COIN, ModelMedusa, type Cart } from '../../support/model-medusa.ts';

/*
 * The contract for shops under plans: customers, payers, admins, the bus and the service do anything, in any order and
 * at once. Goods leave only for the order's whole price, each refund is one, and no money stays without a word.
 */

const PRICES = ['10.00', '6.375', '1234.55'] as const;
const cart = fc.nat({ max: 1 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('open' as const, 'buy' as const), cart }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('card' as const), cart }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('change' as const, 'edit' as const),
      cart,
      price: fc.constantFrom(...PRICES),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('pay' as const),
      cart,
      which: fc.nat({ max: 3 }),
      share: fc.constantFrom(1, 1, 1, 0.5, 2),
      from: fc.constantFrom('wallet' as const, 'wallet' as const, 'contract' as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('confirm' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const), which: fc.nat({ max: 5 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('reverse' as const), which: fc.nat({ max: 5 }), reversed: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('deliver' as const), which: fc.nat({ max: 5 }), again: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('return' as const), cart }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stock' as const), soldOut: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      cart,
      part: fc.constantFrom(2, 2.125, 3, 'all' as const),
      times: fc.constantFrom(1, 2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('cancel' as const, 'acknowledge' as const, 'give back' as const),
      cart,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('copy' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('fault' as const), fault: fc.constantFrom('away', 'lose', 'none', 'none') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('job' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
/** `give back` runs alone: nobody can take back an order and place it in the same moment. */
const plan = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: step.map((one) => [one]) },
    { weight: 1, arbitrary: fc.tuple(step, step).filter((two) => two.every((one) => one.do !== 'give back')) },
  ),
  { minLength: 4, maxLength: 24 },
);

let shop: ModelMedusa;
/** Whether a refund may have been accepted without an answer. */
let mayHaveLost: boolean;

beforeEach(() => void vi.stubGlobal('setTimeout', (run: () => void) => setImmediate(run)));
afterEach(() => void vi.unstubAllGlobals());

const sessionsOf = (one: Cart) =>
  shop.service.sessions().filter(({ metadata }) => metadata['payment_collection'] === one.collectionId);

async function open(one: Cart): Promise<void> {
  const waiting = sessionsOf(one).find(
    ({ status, amount_total }) =>
      (status === 'open' || status === 'processing') && amount_total === cents(shop.total(one)),
  );
  const { data } = await shop.initiate(one, COIN);
  if (waiting !== undefined && shop.service.session(waiting.id).status !== 'cancelled')
    expect(Reflect.get(data, 'id'), 'an address that was seen stays').toBe(waiting.id);
}

async function refund(one: Cart, { part, times }: { part: number | 'all'; times: number }): Promise<void> {
  const order = shop.order(one);
  if (order === undefined) return;
  const amount = part === 'all' ? order.total : String(part);
  await Promise.allSettled(Array.from({ length: times }, async () => shop.refund(order, amount)));
}

async function take(one: Step): Promise<void> {
  const of = shop.carts[Reflect.get(one, 'cart') as number] ?? shop.carts[0]!;
  const { service } = shop;
  const sessions = service.sessions();
  if (one.do === 'open') await open(of);
  else if (one.do === 'buy') {
    const id = String(Reflect.get((await shop.initiate(of)).data, 'id'));
    service.pay(id, service.session(id).amount_total);
    service.confirm(id);
    await shop.complete(of);
  } else if (one.do === 'card') await shop.initiate(of, CARD);
  else if (one.do === 'change') await shop.change(of, one.price);
  else if (one.do === 'edit' && of.orderId === null) of.lines = [one.price];
  else if (one.do === 'pay') {
    const seen = sessionsOf(of).at(-1 - one.which);
    if (seen !== undefined) service.pay(seen.id, (Number(seen.amount_total) * one.share).toFixed(2), one.from);
  } else if (one.do === 'confirm') for (const { id } of sessions) service.confirm(id);
  else if (one.do === 'expire') service.expire(sessions.at(one.which)?.id ?? sessions[0]!.id);
  else if (one.do === 'reverse') service.reverse(sessions.at(one.which)?.id ?? sessions[0]!.id, one.reversed);
  else if (one.do === 'deliver') {
    const message = shop.queue[one.which];
    if (message !== undefined && !one.again) shop.queue.splice(one.which, 1);
    if (message !== undefined) await shop.process(message);
  } else if (one.do === 'return') await shop.complete(of);
  else if (one.do === 'stock') shop.soldOut = one.soldOut;
  else if (one.do === 'refund') await refund(of, one);
  else if (one.do === 'cancel') await shop.cancel(shop.order(of)!);
  else if (one.do === 'acknowledge') await acknowledgeSender(shop.scope, shop.order(of)!.id);
  else if (one.do === 'give back') await returnMoney(shop.scope, of.orderId ?? of.collectionId ?? '', true);
  else if (one.do === 'copy') {
    const [first, second] = shop.payments.filter(({ provider_id: id }) => id === COIN);
    if (first !== undefined && second !== undefined) second.data = first.data;
  } else if (one.do === 'job') await comparePayments(shop.scope, shop.provider);
  else if (one.do === 'fault') {
    service.fault = one.fault as 'none';
    mayHaveLost ||= one.fault === 'lose';
  }
}

/** Whatever happened in the step, an order that is new has its whole price at the service. */
function expectWhole(before: number): void {
  for (const order of shop.orders.slice(before)) {
    const payment = shop.payments.find(({ payment_collection_id: id }) => id === order.cart.collectionId)!;
    if (payment.provider_id === CARD) continue;
    const session = shop.service.session(String(payment.data['id']));
    expect(session, 'goods leave for their whole price').toMatchObject({
      payment_status: 'paid',
      amount_total: cents(order.total),
    });
    const held = Number(session.received) + Number(session.refunded);
    expect(held, 'and it is held').toBeGreaterThanOrEqual(Number(session.amount_total));
  }
}

function expectEachRefundOnce(): void {
  const kept = shop.refunds
    .filter(({ payment_id: id }) => shop.payments.find((payment) => payment.id === id)?.provider_id === COIN)
    .map(({ metadata }) => metadata?.['quittance_refund_id']);
  expect(new Set(kept).size, 'two refunds of Medusa are two at the service').toBe(kept.length);
  expect(kept, 'what Medusa shows was accepted').not.toContain(undefined);
  for (const row of shop.refunds) {
    const made = shop.service.refunds().find(({ id }) => id === row.metadata?.['quittance_refund_id']);
    const payment = shop.payments.find(({ id }) => id === row.payment_id);
    if (made !== undefined)
      expect(
        shop.service.session(made.session_id).metadata['payment_collection'],
        'an order refunds its own money',
      ).toBe(payment?.payment_collection_id);
  }
  const made = shop.service.refunds().filter(({ reason }) => reason?.startsWith('Medusa: '));
  if (!mayHaveLost)
    expect(made.map(({ id }) => id).toSorted(), 'what was accepted Medusa shows').toEqual(kept.toSorted());
}

/** Money that is final, that does not pay an order and can pay none any more. */
function expectWords(): void {
  const told = shop.said.map(({ key }) => key).join('\n');
  for (const session of shop.service.sessions()) {
    const payment = shop.payments.find(({ data, payment_collection_id: id }) => {
      const hasOrder = shop.orders.some((order) => order.cart.collectionId === id);
      return hasOrder && data['id'] === session.id && session.metadata['payment_collection'] === id;
    });
    if (payment === undefined && session.status === 'open') continue;
    for (const { transaction_id: id, refundable, status, kind } of session.deposits)
      if (status === 'final' && Number(refundable) > 0 && (payment === undefined || kind === 'late'))
        expect(told, `a word about ${id}`).toContain(id);
    if (payment !== undefined && Number(session.excess) > 0) expect(told).toContain(`${session.id}:surplus`);
  }
}

/** What Medusa took for an order in coins and has not refunded. */
function leftOf(of: Cart): number {
  const payment = shop.payments.find(({ payment_collection_id: id }) => id === of.collectionId);
  if (payment?.provider_id !== COIN) return 0;
  const refunds = shop.refunds.filter(({ payment_id: id }) => id === payment.id);
  return refunds.reduce((left, { amount }) => left - Number(amount), Number(payment.amount));
}

it('goods leave only for their whole price, each refund is one, and no money stays without a word', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (steps) => {
      shop = new ModelMedusa();
      shop.service.nowSec -= 3600;
      mayHaveLost = false;
      vi.stubGlobal('fetch', shop.service.fetch);
      shop.cart('10.00');
      shop.cart('6.375');
      // Somebody refuses, and others go on: only what expects something fails.
      const tried = async (one: Step): Promise<void> => {
        try {
          await take(one);
        } catch (error) {
          if (error instanceof Error && error.name === 'AssertionError') throw error;
        }
      };
      for (const together of steps) {
        const before = shop.orders.length;
        await Promise.all(together.map(tried));
        expectWhole(before);
      }
      shop.service.fault = 'none';
      const before = shop.orders.length;
      for (const { id } of shop.service.sessions()) shop.service.confirm(id);
      for (const message of shop.queue.splice(0)) await shop.process(message).catch(() => undefined);
      await comparePayments(shop.scope, shop.provider);
      expectWhole(before);
      expectEachRefundOnce();
      expectWords();
      expect(new Set(shop.orders.map((order) => order.cart.id)).size).toBe(shop.orders.length);
      for (const { status, cart: of } of shop.orders)
        if (status === 'canceled') expect(leftOf(of), 'a cancelled order was refunded').toBeLessThan(0.01);
    }),
    { numRuns: 1000 },
  );
}, 120_000);
