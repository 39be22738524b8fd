import assert from 'node:assert/strict';
import { eventually as within, type SandboxFacts, signedCall } from '../../support/running-sandbox.ts';
import type { Gate } from '../gate.ts';
import type { ShopCase } from '../shop.ts';

interface Deps {
  readonly ask: <Answer>(command: string, input?: object) => Promise<Answer>;
  readonly gate: Gate;
  readonly facts: SandboxFacts;
}

interface OrderState {
  readonly status: string;
  readonly total: string;
  readonly paid: boolean;
  readonly session: string;
  readonly external_id: string;
  readonly notes: readonly string[];
  readonly refunded: string;
}

/** Each look of a shop is a process of its own, which takes its time. */
const eventually: typeof within = (what, ask) => within(what, ask, 180_000);

type Played = (world: World) => Promise<void>;

/** Orders of a real WooCommerce, paid on local chains. */
class World {
  readonly ask: Deps['ask'];
  readonly gate: Gate;
  private readonly facts: SandboxFacts;

  constructor({ ask, gate, facts }: Deps) {
    this.ask = ask;
    this.gate = gate;
    this.facts = facts;
  }

  call(method: string, path: string, body?: unknown): ReturnType<typeof signedCall> {
    return signedCall(this.facts.base_url, this.facts.merchant, method, path, body);
  }

  async order(price: string): Promise<number> {
    return this.ask<number>('order', { price });
  }

  /** An order whose customer has seen the payment page. */
  async begun(price: string): Promise<number> {
    const order = await this.order(price);
    assert.deepEqual(await this.ask('pay', { order }), { result: 'success', notices: [] });
    return order;
  }

  async state(order: number): Promise<OrderState> {
    return this.ask<OrderState>('state', { order });
  }

  async pays(session: string, more: object = {}): Promise<void> {
    const { status, json } = await this.call('POST', `/v1/sandbox/sessions/${session}/pay`, {
      network: 'ethereum',
      ...more,
    });
    assert.equal(status, 200, JSON.stringify(json));
  }

  async session(id: string): Promise<Record<string, unknown>> {
    return (await this.call('GET', `/api/v1/checkout/sessions/${id}`)).json;
  }

  async becomes(order: number, wanted: (state: OrderState) => boolean, what: string): Promise<OrderState> {
    return eventually(what, async () => {
      const state = await this.state(order);
      return wanted(state) && state;
    });
  }

  async refundsOf(session: string): Promise<readonly Record<string, unknown>[]> {
    const { json } = await this.call('GET', `/v1/refunds?session_id=${session}`);
    return json['data'] as readonly Record<string, unknown>[];
  }

  async needs(): Promise<string> {
    return (await this.ask<string[]>('needs')).join('\n');
  }
}

const has = (state: OrderState, part: string): boolean => state.notes.some((note) => note.includes(part));

const CASES: readonly (readonly [string, Played])[] = [
  [
    'an order is processing once its payment is final',
    async (world) => {
      const order = await world.begun('4.90');
      await world.pays((await world.state(order)).session);
      const state = await world.becomes(order, ({ status }) => status === 'processing', 'processing');
      assert.equal(state.notes.filter((note) => note.startsWith('Received ')).length, 1);
    },
  ],
  [
    '10: an order that is cancelled while the service is asked is not processing',
    async (world) => {
      const order = await world.begun('12.21');
      const { session } = await world.state(order);
      let cancelled = false;
      await world.pays(session);
      await eventually('paid', async () => (await world.session(session))['payment_status'] === 'paid');
      world.gate.during(`/api/v1/checkout/sessions/${session}`, async () => {
        await world.ask('status', { order, status: 'cancelled' });
        cancelled = true;
      });
      await world.ask('action', { order, action: 'check' });
      const state = await world.state(order);
      if (cancelled) assert.equal(state.status, 'cancelled');
      assert.ok(has(state, 'although the order is cancelled') || has(state, 'given up after it was paid'));
    },
  ],
  [
    '10: an order that grows while the service is asked is on hold, with a word',
    async (world) => {
      const order = await world.begun('12.21');
      const { session } = await world.state(order);
      let grown = false;
      world.gate.during(`/api/v1/checkout/sessions/${session}`, async () => {
        await world.ask('grow', { order, price: '1460.00' });
        grown = true;
      });
      await world.pays(session);
      await eventually('paid', async () => (await world.session(session))['payment_status'] === 'paid');
      const state = await world.becomes(order, (one) => has(one, 'Check before you deliver'), 'a word');
      assert.ok(grown);
      // Another message may have completed it at the old price just before it grew.
      assert.deepEqual([state.status, state.total], ['on-hold', '1472.21']);
    },
  ],
  [
    '11: the word is written although the order was on hold for money on its way',
    async (world) => {
      const order = await world.begun('10.00');
      const { session } = await world.state(order);
      await world.ask('grow', { order, price: '5.00' });
      await world.ask('status', { order, status: 'on-hold' });
      await world.pays(session);
      const state = await world.becomes(order, (one) => has(one, 'Paid 10 USD, but the order costs 15 USD'), 'a word');
      assert.deepEqual([state.status, state.paid], ['on-hold', false]);
      assert.match(await world.needs(), /Paid 10 USD, but the order costs 15 USD/);
      // Somebody looks at it, and sends the difference back after the order became cheaper again.
      assert.match(await world.ask<string>('screen', { order }), /Stablecoin payments need you/);
    },
  ],
  [
    '12: a copied order refunds nothing, and can be paid',
    async (world) => {
      const order = await world.begun('13.19');
      const { session } = await world.state(order);
      await world.pays(session);
      await world.becomes(order, ({ status }) => status === 'processing', 'processing');
      const copy = await world.ask<number>('copy', { order });
      assert.match(
        await world.ask<string>('refund', { order: copy, amount: '13.19' }),
        /not paid by a payment session/,
      );
      await world.ask('action', { order: copy, action: 'return_surplus' });
      assert.deepEqual(await world.refundsOf(session), []);
      assert.deepEqual(await world.ask('pay', { order: copy }), { result: 'success', notices: [] });
      assert.notEqual((await world.state(copy)).session, session);
    },
  ],
  [
    '13: what was paid while the plugin was deactivated is found',
    async (world) => {
      const order = await world.begun('7.50');
      await world.ask('deactivate', { plugin: 'quittance/quittance.php' });
      const { session } = await world.state(order);
      await world.pays(session);
      await eventually('paid', async () => (await world.session(session))['payment_status'] === 'paid');
      await world.ask('activate', { plugin: 'quittance/quittance.php' });
      assert.equal(await world.ask('timer', { order }), true);
      assert.equal((await world.state(order)).status, 'processing');
    },
  ],
  [
    '14: money for a cancelled order is told of and goes back from the shop',
    async (world) => {
      const order = await world.begun('6.00');
      const { session } = await world.state(order);
      await world.pays(session);
      await world.ask('status', { order, status: 'cancelled' });
      const wanted = (state: OrderState): boolean =>
        has(state, 'cancelled or in the trash') ||
        has(state, 'although the order is cancelled') ||
        has(state, 'given up after it was paid');
      await eventually('a word', async () => {
        await world.ask('timer', { order });
        return wanted(await world.state(order));
      });
      await eventually('sent back', async () => {
        await world.ask('action', { order, action: 'return_surplus' });
        return (await world.refundsOf(session)).length === 1;
      });
      assert.equal((await world.state(order)).status, 'cancelled');
    },
  ],
  [
    '14: a shrunk order gives the difference back',
    async (world) => {
      const order = await world.begun('9.00');
      const { session } = await world.state(order);
      await world.ask('grow', { order, price: '-2.00' });
      await world.pays(session);
      await world.becomes(order, (one) => has(one, 'Paid 9 USD, but the order costs 7 USD'), 'a word');
      await world.ask('action', { order, action: 'return_surplus' });
      await world.ask('action', { order, action: 'return_surplus' });
      const refunds = await world.refundsOf(session);
      assert.equal(refunds.length, 1);
      assert.match(JSON.stringify(refunds[0]!['amount']), /2\.00/);
    },
  ],
  [
    '14: a trashed and a deleted order close their sessions, and their money stays in sight',
    async (world) => {
      for (const end of ['trash', 'delete']) {
        const order = await world.begun('5.25');
        const { session } = await world.state(order);
        await world.pays(session, { case: 'partial' });
        await eventually('money', async () => (await world.session(session))['received'] !== '0.00');
        await world.ask(end, { order });
        await eventually('closed', async () => {
          await world.ask('timer', end === 'trash' ? { order } : {});
          return (
            (await world.session(session))['status'] === 'cancelled' &&
            /in the trash|any more/.test(await world.needs())
          );
        });
        if (end === 'trash') await world.ask('action', { order, action: 'return_surplus' });
        else assert.equal(await world.ask('return_deleted', { key: `session:${session}` }), true);
        assert.equal((await world.refundsOf(session)).length, 1);
      }
    },
  ],
  [
    '15: an order whose number the service knows from another one can be paid',
    async (world) => {
      const order = await world.order('3.00');
      const prefix = (await world.state(await world.begun('3.00'))).external_id.replace(/\d+$/, '');
      const { status } = await world.call('POST', '/api/v1/checkout/sessions/create', {
        amount: '99.00',
        currency: 'USD',
        order_id: `${prefix}${order}`,
        metadata: { order_key: 'of a restored backup', shop: prefix },
      });
      assert.equal(status, 200);
      assert.deepEqual(await world.ask('pay', { order }), { result: 'success', notices: [] });
      const state = await world.state(order);
      assert.ok(has(state, 'order prefix of its own'));
      await world.pays(state.session);
      await world.becomes(order, ({ status: now }) => now === 'processing', 'processing');
    },
  ],
  [
    '15: a service that hangs holds a checkout for seconds, and no edit',
    async (world) => {
      const order = await world.order('3.00');
      world.gate.hang('/api/v1/checkout');
      const paying = world.ask<{ result: string }>('pay', { order });
      await new Promise((wait) => setTimeout(wait, 1_500));
      await world.ask('status', { order, status: 'on-hold' });
      assert.equal((await world.state(order)).status, 'on-hold');
      assert.equal((await paying).result, 'failure');
      assert.ok(world.gate.waitedMs() < 20_000, `${world.gate.waitedMs()} ms`);
      world.gate.hang(null);
    },
  ],
  [
    '16: a currency without a rate, and decimals that a currency has not, are not offered',
    async (world) => {
      await world.ask('option', { name: 'woocommerce_currency', value: 'MNT' });
      const order = await world.order('3.00');
      assert.equal((await world.ask<{ result: string }>('pay', { order })).result, 'failure');
      assert.equal(await world.ask('offered'), false);
      assert.match(await world.needs(), /Customers are not offered stablecoins in MNT/);
      await world.ask('option', { name: 'woocommerce_currency', value: 'JPY' });
      const yen = await world.order('170.50');
      assert.equal((await world.ask<{ result: string }>('pay', { order: yen })).result, 'failure');
      await world.ask('option', { name: 'woocommerce_currency', value: 'USD' });
      assert.equal(await world.ask('offered'), true);
    },
  ],
  [
    'R1: two equal refunds at once are two, and the last takes what is left',
    async (world) => {
      const order = await world.begun('10.00');
      const { session } = await world.state(order);
      await world.pays(session);
      await world.becomes(order, ({ status }) => status === 'processing', 'processing');
      const both = await Promise.all([1, 2].map(() => world.ask('refund', { order, amount: '3.33' })));
      assert.deepEqual(both, [true, true]);
      assert.equal(await world.ask('refund', { order, amount: '3.34' }), true);
      assert.equal((await world.refundsOf(session)).length, 3);
      assert.equal(Number((await world.session(session))['refundable']), 0);
    },
  ],
];

/** The contract for shops, with the old way of storing orders and with high-performance order storage. */
export function woocommerceCases(deps: Deps): ShopCase[] {
  const world = new World(deps);
  return [false, true].flatMap((hpos) =>
    CASES.map(([name, play]) => ({
      name: `${name} (HPOS ${hpos ? 'on' : 'off'})`,
      play: async () => {
        await deps.ask('hpos', { on: hpos });
        await play(world);
      },
    })),
  );
}
