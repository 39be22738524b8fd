import fc from 'fast-check';
import { afterEach, beforeEach, it, vi } from 'vitest';
import {
  playPlan,
  type PlacedOrder,
  type ShopStep,
  type ShopUnderTest,
} from '../../../packages/client/src/shop-plans.ts';
import { comparePayments } from '../../../plugins/medusa/src/compare.ts';
import { acknowledgeSender, returnMoney } from '../../../plugins/medusa/src/money.ts';
import { CARD, cents, COIN, ModelMedusa, type Cart, type Order } from '../../support/model-medusa.ts';

/*
 * The contract for shops under plans: customers, payers, admins, the bus and the service do anything, in any order and
 * at once. Goods leave only for the order's whole price, each refund is one, and no money stays without a word.
 */

const order = fc.nat({ max: 1 });
const which = fc.nat({ max: 5 });
const of = <Do extends ShopStep['do']>(...names: Do[]) => fc.constantFrom(...names);
const step: fc.Arbitrary<ShopStep> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: of('open', 'buy'), order }) },
  { weight: 4, arbitrary: fc.record({ do: of('finish'), order }) },
  { weight: 1, arbitrary: fc.record({ do: of('pay otherwise'), order }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: of('change', 'edit'), order, amount: fc.constantFrom('10.00', '6.375', '1234.55') }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: of('pay'),
      order,
      which: fc.nat({ max: 3 }),
      percent: fc.constantFrom(100, 100, 100, 50, 200),
      from: fc.constantFrom('wallet', 'wallet', 'contract'),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: of('confirm') }) },
  { weight: 1, arbitrary: fc.record({ do: of('expire'), which }) },
  { weight: 1, arbitrary: fc.record({ do: of('reverse'), which, reversed: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: of('deliver'), which, again: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: of('sell out'), isOut: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: of('refund'),
      order,
      amount: fc.constantFrom('2', '2.125', '3', null),
      times: fc.constantFrom(1, 2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: of('cancel', 'acknowledge', 'return'), order }) },
  { weight: 1, arbitrary: fc.record({ do: of('copy', 'compare') }) },
  { weight: 1, arbitrary: fc.record({ do: of('fault'), fault: fc.constantFrom('away', 'lose', 'none', 'none') }) },
);
/** A return runs alone: nobody can give the money back and place the order in the same moment. */
const together = fc.tuple(step, step).filter((two) => two.every((one) => one.do !== 'return'));
const plan = fc.array(
  fc.oneof({ weight: 4, arbitrary: step.map((one) => [one]) }, { weight: 1, arbitrary: together }),
  { minLength: 4, maxLength: 24 },
);

/** What the plans do and see, in a model of Medusa. */
class MedusaUnderTest implements ShopUnderTest {
  readonly shop = new ModelMedusa();
  readonly service = this.shop.service;
  readonly orders = [this.shop.cart('10.00').id, this.shop.cart('6.375').id];

  /** What Medusa asks a provider for: the amount of the collection, which it brings in line with the cart. */
  price(id: string) {
    const collection = this.shop.collections.find((one) => one.id === this.cart(id).collectionId);
    if (collection !== undefined) return { amount: cents(collection.amount), currency: 'usd' };
    return { amount: cents(this.shop.total(this.cart(id))), currency: 'usd' };
  }

  async open(id: string): Promise<string> {
    return String((await this.shop.initiate(this.cart(id), COIN)).data['id']);
  }

  payOtherwise = (id: string) => this.shop.initiate(this.cart(id), CARD);
  change = (id: string, amount: string) => this.shop.change(this.cart(id), amount);
  finish = (id: string) => this.shop.complete(this.cart(id));
  refund = (id: string, amount: string) => this.shop.refund(this.placedOf(id), amount);
  cancel = (id: string) => this.shop.cancel(this.placedOf(id));
  acknowledgeSender = (id: string) => acknowledgeSender(this.shop.scope, this.placedOf(id).id);
  compare = () => comparePayments(this.shop.scope, this.shop.provider);

  edit(id: string, amount: string): void {
    if (this.cart(id).orderId === null) this.cart(id).lines = [amount];
  }

  async deliver(place: number, again: boolean): Promise<void> {
    const message = this.shop.queue[place];
    if (message !== undefined && !again) this.shop.queue.splice(place, 1);
    if (message !== undefined) await this.shop.process(message);
  }

  async deliverAll(): Promise<void> {
    for (const message of this.shop.queue.splice(0)) await this.shop.process(message).catch(() => undefined);
  }

  sellOut(isOut: boolean): void {
    this.shop.soldOut = isOut;
  }

  returnMoney(id: string): Promise<number> {
    const { orderId, collectionId } = this.cart(id);
    return returnMoney(this.shop.scope, orderId ?? collectionId ?? '', true);
  }

  copy(): void {
    const [first, second] = this.shop.payments.filter(({ provider_id: provider }) => provider === COIN);
    if (first !== undefined && second !== undefined) second.data = first.data;
  }

  placed(): PlacedOrder[] {
    return this.shop.orders.map(({ cart, total, status }) => {
      const payment = this.shop.payments.find(({ payment_collection_id: id }) => id === cart.collectionId)!;
      const isCoin = payment.provider_id === COIN;
      const refunds = this.shop.refunds.filter(({ payment_id: id }) => id === payment.id);
      const left = refunds.reduce((sum, { amount }) => sum - Number(amount), Number(payment.amount));
      return {
        order: cart.id,
        price: { amount: cents(total), currency: 'usd' },
        session: isCoin ? String(payment.data['id']) : null,
        cancelled: status === 'canceled',
        unrefunded: isCoin ? Math.max(0, left).toFixed(6) : '0',
      };
    });
  }

  refunds() {
    return this.shop.refunds.flatMap(({ payment_id: id, metadata }) => {
      const payment = this.shop.payments.find((one) => one.id === id);
      const cart = this.shop.carts.find(({ collectionId }) => collectionId === payment?.payment_collection_id);
      const refund = metadata?.['quittance_refund_id'];
      if (payment?.provider_id !== COIN || cart === undefined) return [];
      return [{ order: cart.id, refund: typeof refund === 'string' ? refund : undefined }];
    });
  }

  owns(id: string, session: string): boolean {
    return this.service.session(session).metadata['payment_collection'] === this.cart(id).collectionId;
  }

  told = (): string => this.shop.said.map(({ key }) => key).join('\n');

  private cart(id: string): Cart {
    return this.shop.carts.find((cart) => cart.id === id)!;
  }

  private placedOf(id: string): Order {
    const placed = this.shop.order(this.cart(id));
    if (placed === undefined) throw new Error('the cart is no order');
    return placed;
  }
}

beforeEach(() => void vi.stubGlobal('setTimeout', (run: () => void) => setImmediate(run)));
afterEach(() => void vi.unstubAllGlobals());

it('goods leave only for their whole price, each refund is one, and no money stays without a word', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (steps) => {
      const shop = new MedusaUnderTest();
      // Longer ago than Medusa takes to complete a cart by itself.
      shop.service.nowSec -= 3600;
      vi.stubGlobal('fetch', shop.service.fetch);
      await playPlan(shop, steps);
    }),
    { numRuns: 1000 },
  );
}, 120_000);
