import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { eventually } from '../../support/running-sandbox.ts';
import type { ShopCase } from '../shop.ts';
import { OTHER, type World } from './world.ts';

/** What the goods of the cases cost. */
export const CASES_PRICES = ['6.38', '1234.55', '17.84', '23.79', '19.75', '10.00', '5.00', '6.375'];
const SOON_MS = 60_000;
const LOCKED_MS = 200_000;

type Play = (world: World) => Promise<void>;

/** A cart of this price whose customer has seen the address. */
async function begun(world: World, price: string): Promise<{ cart: string; id: string }> {
  const cart = await world.cart(price);
  return { cart, id: await world.open(cart) };
}

async function ordered(world: World, price: string, payment: object = {}) {
  const { cart, id } = await begun(world, price);
  await world.paid(id, payment);
  return { cart, id, order: await world.ordered(cart) };
}

const CASES: Readonly<Record<string, Play>> = {
  async 'a message alone completes a cart, and the order is captured'(world) {
    const { cart, id } = await begun(world, '10.00');
    const { type, error } = await world.complete(cart);
    assert.deepEqual([type, error?.type], ['cart', 'payment_authorization_error']);
    await world.paid(id);
    const order = await eventually(
      'the order is there',
      async () => {
        const { orders } = await world.shop.admin<{ orders: readonly { id: string; total: number }[] }>(
          'GET',
          '/admin/orders',
        );
        return orders.find(({ total }) => total === 10);
      },
      SOON_MS,
    );
    // Medusa stores an order before it takes the payment.
    await eventually(
      'it is captured',
      async () => (await world.order(order.id)).payment_status === 'captured',
      SOON_MS,
    );
  },

  async '1: an item that is added while money is under way is refused each time, and the order has its price'(world) {
    const { cart, id } = await begun(world, '6.38');
    await world.pay(id);
    for (let time = 0; time < 2; time += 1)
      assert.match((await world.add(cart, '1234.55', 400)).message ?? '', /a payment is under way for this cart/);
    assert.equal(await world.total(cart), 6.38);
    assert.equal((await world.ordered(cart)).total, 6.38);
  },

  async '1: a cart does not change while the service is away'(world) {
    const { cart, id } = await begun(world, '17.84');
    world.shop.proxy.set('away');
    for (let time = 0; time < 2; time += 1)
      assert.match((await world.add(cart, '23.79', 500)).message ?? '', /gave no answer/);
    world.shop.proxy.set('pass');
    assert.equal(await world.total(cart), 17.84);
    await world.paid(id);
    assert.equal((await world.ordered(cart)).total, 17.84);
  },

  async '2: a sold-out cart keeps its payment; once that was refunded it buys nothing'(world) {
    const { cart, id } = await begun(world, '23.79');
    await world.sellOut('23.79', true);
    await world.paid(id);
    await new Promise((wait) => setTimeout(wait, 5_000));
    assert.equal((await world.session(id)).refunded, '0.00');
    await world.service('POST', '/v1/refunds', { session_id: id });
    await world.sellOut('23.79', false);
    // A completing that failed in the middle keeps Medusa's lock for two minutes.
    const refused = await eventually('the lock is free', () => world.complete(cart).catch(() => null), LOCKED_MS);
    assert.deepEqual([refused.type, refused.error?.type], ['cart', 'payment_authorization_error']);
    const next = await world.open(cart);
    assert.notEqual(next, id);
    await world.paid(next);
    assert.equal((await world.ordered(cart)).total, 23.79);
  },

  async '3: two equal refunds at once are two'(world) {
    const { id, order } = await ordered(world, '10.00');
    // Medusa may refuse to change the order for the second after it has refunded it: what it shows is what went out.
    await Promise.allSettled([world.refund(order, 2), world.refund(order, 2)]);
    const { payment_collections: collections } = await world.order(order.id);
    assert.equal(collections[0]?.payments[0]?.refunds?.length, 2);
    assert.equal((await world.refundsAt(id)).length, 2);
  },

  async '3: a refund whose answer was lost is not paid twice'(world) {
    const { id, order } = await ordered(world, '10.00');
    world.shop.proxy.set('lose', /^POST \/v1\/refunds/);
    assert.match((await world.refund(order, 3, 500)).message ?? '', /refund the same amount again/);
    world.shop.proxy.set('pass');
    await world.refund(order, 3);
    assert.equal((await world.refundsAt(id)).length, 1);
  },

  async '4: a short payment blocks nothing, is shown as money to return, and goes back from the admin'(world) {
    const { cart, id } = await begun(world, '10.00');
    await world.pay(id, { case: 'partial' });
    await eventually('it is final', async () => (await world.session(id)).received !== '0.00', SOON_MS);
    await world.add(cart, '5.00');
    const next = await world.open(cart);
    assert.notEqual(next, id);
    await world.open(cart, OTHER);
    const order = await world.ordered(cart);
    const shown = (await world.money(order.id)).find((one) => one.id === id);
    assert.equal(shown?.to_return.length, 1);
    assert.ok(shown?.deposits[0]?.tx_hash);
    await world.shop.admin('POST', `/admin/quittance/${order.id}/return`, {});
    assert.equal((await world.refundsAt(id)).length, 1);
  },

  async '5: a contract is refunded after a person said so, and its order is not called cancelled before'(world) {
    const { id, order } = await ordered(world, '10.00', { case: 'contract_payer', network: 'ethereum' });
    assert.match((await world.refund(order, 10, 400)).message ?? '', /The paying address can receive refunds/);
    const refused = await world.shop.admin<{ message: string }>('POST', `/admin/orders/${order.id}/cancel`, {}, 400);
    assert.match(refused.message, /the order was not cancelled/);
    assert.notEqual((await world.order(order.id)).status, 'canceled');
    await world.shop.admin('POST', `/admin/quittance/${order.id}/acknowledge`, {});
    await world.shop.admin('POST', `/admin/orders/${order.id}/cancel`, {});
    assert.equal((await world.refundsAt(id)).length, 1);
    assert.equal((await world.order(order.id)).status, 'canceled');
  },

  async '6: a message is judged when it arrives, and not by how long it waits'(world) {
    const { cart, id } = await begun(world, '5.00');
    const { merchant } = world.sandbox.facts;
    await world.service('PATCH', '/v1/merchant', { webhook: { url: null } });
    await world.paid(id);
    const send = async (ageSec: number, secret: string): Promise<number> => {
      const body = JSON.stringify({ id: 'evt_1', type: 'payment.completed', data: { object: { session_id: id } } });
      const timestamp = String(Math.floor(Date.now() / 1000) - ageSec);
      const signature = createHmac('sha256', secret).update(`${timestamp}.n.${body}`).digest('hex');
      const response = await fetch(`${world.shop.url}/hooks/payment/quittance_main`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          'X-Service-Timestamp': timestamp,
          'X-Service-Nonce': 'n',
          'X-Service-Signature': signature,
        },
        body,
      });
      return response.status;
    };
    assert.equal(await send(0, 'another secret'), 401);
    assert.equal(await send(400, merchant.webhook_secret), 401);
    // Fresh when it arrives, and too old when Medusa's queue gives it back.
    assert.equal(await send(298, merchant.webhook_secret), 200);
    const order = await eventually(
      'the order is there',
      async () => {
        const { orders } = await world.shop.admin<{ orders: readonly { id: string; total: number }[] }>(
          'GET',
          '/admin/orders',
        );
        return orders.find(({ total }) => total === 5);
      },
      SOON_MS,
    );
    assert.equal((await world.ordered(cart)).id, order.id);
    await world.service('PATCH', '/v1/merchant', {
      webhook: { url: `${world.shop.url}/hooks/payment/quittance_main` },
    });
  },

  async '7: opening the checkout again shows the same address'(world) {
    const { cart, id } = await begun(world, '19.75');
    for (let time = 0; time < 3; time += 1) assert.equal(await world.open(cart), id);
    await world.pay(id);
    assert.equal(await world.open(cart), id);
    await world.final(id);
    assert.equal((await world.ordered(cart)).total, 19.75);
  },

  async '7: money that came late is said in the admin, shown as money to return, and goes back'(world) {
    const { cart, id } = await begun(world, '19.75');
    await world.service('POST', `/v1/sandbox/sessions/${id}/advance`, {});
    await eventually('it expired', async () => (await world.session(id)).status === 'expired', SOON_MS);
    await world.service('POST', `/v1/sandbox/sessions/${id}/pay`, { network: 'tron', amount: '19.75' });
    await eventually(
      'it is said',
      async () => {
        const { notifications } = await world.shop.admin<{
          notifications: readonly { data: { description: string } }[];
        }>('GET', '/admin/notifications?channel=feed');
        return notifications.some(({ data }) => data.description.startsWith('19.75 '));
      },
      SOON_MS,
    );
    const collection = await world.collection(cart);
    assert.equal((await world.money(collection))[0]?.to_return.length, 1);
    await world.shop.admin('POST', `/admin/quittance/${collection}/return`, {});
    assert.equal((await world.refundsAt(id)).length, 1);
  },

  async '8: the last of several partial refunds goes out, too'(world) {
    const { id, order } = await ordered(world, '6.375');
    for (let part = 0; part < 3; part += 1) await world.refund(order, 2.125);
    assert.equal((await world.session(id)).received, '0.00');
  },

  async '8: a service that hangs holds a request for seconds, and the answer says so'(world) {
    const cart = await world.cart('10.00');
    const collection = await world.collection(cart);
    world.shop.proxy.set('hang');
    const begunMs = Date.now();
    const path = `/store/payment-collections/${collection}/payment-sessions`;
    const { message } = await world.shop.store<{ message: string }>(
      'POST',
      path,
      { provider_id: 'pp_quittance_main' },
      500,
    );
    world.shop.proxy.set('pass');
    assert.match(message, /gave no answer/);
    assert.ok(Date.now() - begunMs < 30_000, `it took ${Date.now() - begunMs} ms`);
  },

  async '9: the package is there for both module systems, with types, licence and links that lead somewhere'(world) {
    const { folder } = world.shop;
    const installed = join(folder, 'node_modules/@quittance/medusa');
    for (const script of ["require('@quittance/medusa')", "await import('@quittance/medusa')"]) {
      const kind = script.startsWith('await') ? ['--input-type=module'] : [];
      const text = `const loaded = ${script}; if (!loaded.guardCompletion) throw new Error('no guards')`;
      execFileSync(process.execPath, [...kind, '-e', text], { cwd: folder });
    }
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { types: string };
    assert.ok(existsSync(join(installed, manifest.types)) && existsSync(join(installed, 'LICENSE')));
    const readme = readFileSync(join(installed, 'README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\((?!https:)([^)#]+)/g)].map(([, link = '']) => link);
    assert.deepEqual(
      links.filter((link) => !existsSync(join(dirname(join(installed, 'README.md')), link))),
      [],
    );
    await Promise.resolve();
  },

  async 'the job completes a paid cart that no message told of'(world) {
    await world.service('PATCH', '/v1/merchant', { webhook: { url: null } });
    const { cart, id } = await begun(world, '10.00');
    await world.paid(id);
    // Until then Medusa may be completing it.
    await new Promise((wait) => setTimeout(wait, 65_000));
    await world.shop.runJob();
    const fields = await world.shop.store<{ cart: { completed_at: string | null } }>(
      'GET',
      `/store/carts/${cart}?fields=+completed_at`,
    );
    assert.ok(fields.cart.completed_at);
  },
};

export const casesIn = (world: World): readonly ShopCase[] =>
  Object.entries(CASES).map(([name, play]) => ({
    name,
    async play() {
      try {
        await play(world);
      } finally {
        // A case that failed in the middle leaves nothing to the next.
        world.shop.proxy.set('pass');
      }
    },
  }));
