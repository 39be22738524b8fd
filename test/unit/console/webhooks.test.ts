import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConsoleDeps } from '../../../src/console/deps.ts';
import type { DeliveryView } from '../../../src/features/webhooks/views.ts';
import { ConsoleWorld, SHOP, type TestPerson } from '../../support/console-world.ts';

const EVENT = 'evt_1767225660123456789';
/** A further endpoint has deliveries of its own. */
const FURTHER = `${EVENT}.we_k7w2q5m4n6p3r7s2t5v4`;
const summary = { eventType: 'payment.completed', sessionId: 'cs_1', status: 'exhausted', attempts: 7, createdSec: 1 };
const viewOf = (notificationId: string) => ({ ...summary, notificationId, body: '{}', log: [], nextAttemptAtMs: null });
const sentAgain: string[] = [];
const webhooks = {
  list: async () => ({
    ok: true,
    value: {
      rows: [EVENT, FURTHER].map((notificationId) => ({ ...summary, notificationId })),
      pagination: { total: 2, has_more: false, next_cursor: null },
    },
  }),
  get: async (_reader: object, id: string) => viewOf(id) as unknown as DeliveryView,
  redeliver: async (_caller: object, id: string) => {
    sentAgain.push(id);
    return { ok: true, value: {} };
  },
};

let world: ConsoleWorld;
let support: TestPerson;
beforeAll(async () => {
  world = await ConsoleWorld.start({ webhooks } as unknown as Partial<ConsoleDeps>);
  support = await world.person('Sam', { role: 'support', merchantId: SHOP.id });
});
afterAll(() => world.close());

it('every delivery of the list can be opened and sent again, that of a further endpoint, too', async () => {
  const list = await world.get(`/m/${SHOP.id}/webhooks`, support);
  const links = [...list.body.matchAll(/href="(\/m\/mer_shop\/webhooks\/evt_[^"]+)"/g)].map(([, path]) => path!);
  expect(links).toHaveLength(2);
  for (const path of links) {
    expect((await world.get(path, support)).status, path).toBe(200);
    expect((await world.post(`${path}/redeliver`, support, { reason: 'lost' })).status, path).toBe(303);
  }
  expect(sentAgain).toEqual([EVENT, FURTHER]);
});

it('the search finds the delivery of a further endpoint', async () => {
  const { status, headers } = await world.get(`/search?q=${FURTHER}`, support);
  expect([status, headers['location']]).toEqual([303, `/m/${SHOP.id}/webhooks/${FURTHER}`]);
});

it.each(['evt_1', `${EVENT}.`, `${EVENT}.we_UPPER`, `${EVENT}/..`])('%s is no delivery', async (id) => {
  expect((await world.get(`/m/${SHOP.id}/webhooks/${encodeURIComponent(id)}`, support)).status).toBe(404);
});

it.each(['rejected', 'exhausted', 'blocked'])('a delivery that ended as %s needs attention', async (ended) => {
  const list = async (_reader: object, { status }: { status: string }) => {
    const rows = status === ended ? [{ ...summary, status, notificationId: EVENT }] : [];
    return { ok: true, value: { rows, pagination: { total: rows.length, has_more: false, next_cursor: null } } };
  };
  const own = await ConsoleWorld.start({ webhooks: { ...webhooks, list } } as unknown as Partial<ConsoleDeps>);
  const operator = await own.person('Olga', { role: 'operator' });
  const owner = await own.person('Sue', { role: 'support', merchantId: SHOP.id });
  const ofOperator = await own.get(`/attention?mode=${SHOP.mode}`, operator);
  const ofMerchant = await own.get(`/m/${SHOP.id}`, owner);
  for (const { body } of [ofOperator, ofMerchant]) expect(body).toMatch(/webhooks? did not arrive/);
  await own.close();
});
