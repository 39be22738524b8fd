import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConsoleDeps } from '../../../src/console/deps.ts';
import type { SessionId } from '../../../src/domain/values/ids.ts';
import type { CreateSessionInput } from '../../../src/features/shared/merchant-api.ts';
import { Sessions } from '../../../src/features/sessions/sessions.ts';
import { toSec } from '../../../src/ports/clock.ts';
import { createSessionPresenter } from '../../../src/http/presenters/session.presenter.ts';
import { ConsoleWorld, SHOP, type TestPerson } from '../../support/console-world.ts';
import { caller, order, sessionWorld, tellerOf } from '../../support/session-world.ts';

/* Whoever serves customers makes payments by hand, also for an order whose payment is over. */

const LINKS = `/m/${SHOP.id}/links/new`;
const FORM = { amount: '10.00', currency: 'USDT', order: 'order-1', description: 'Two mugs', supersedes: '' };

/** A session of the order that was cancelled. */
async function cancelledSession() {
  const { deps } = sessionWorld();
  const api = new Sessions({
    ...deps,
    senders: { of: async () => null },
    sessionOfRefund: async () => null,
    onAddressesGiven: () => undefined,
    changes: { on: () => () => undefined },
  });
  const made = await api.createSession(caller, order);
  if (!made.ok) throw new Error(made.refusal.message);
  const { sessionId } = made.value;
  await tellerOf(deps.sessions, sessionId)({ type: 'CancelSession', nowSec: toSec(deps.clock.nowMs()) });
  return { api, sessionId };
}

let shop: Awaited<ReturnType<typeof cancelledSession>>;
let world: ConsoleWorld;
let support: TestPerson;

beforeAll(async () => {
  shop = await cancelledSession();
  const { api } = shop;
  const presenter = createSessionPresenter({
    publicUrl: 'https://pay.example',
    networks: () => [],
    deepLinks: () => ({}),
  });
  const use = { createSession: (_: unknown, input: CreateSessionInput) => api.createSession(caller, input) };
  const records = {
    session: async (_: unknown, id: SessionId) => presenter.session((await api.getSession(caller, id))!),
  };
  world = await ConsoleWorld.start({ records, api: use } as unknown as Partial<ConsoleDeps>);
  support = await world.person('Sue', { role: 'support', merchantId: SHOP.id });
});
afterAll(() => world.close());

it('names the ended payment of the order, and creates the one that replaces it', async () => {
  const { sessionId, api } = shop;
  const over = await world.post(LINKS, support, FORM);
  expect(over.status).toBe(400);
  expect(over.body).toContain(`the session ${sessionId} of this order has ended (cancelled)`);
  expect((await world.get(LINKS, support)).body).toContain('name="supersedes"');
  const made = await world.post(LINKS, support, { ...FORM, supersedes: sessionId });
  const { supersededBy } = (await api.getSession(caller, sessionId))!;
  expect([made.status, made.body.includes(`https://pay.example/pay/${supersededBy}`)]).toEqual([200, true]);
  const unknown = await world.post(LINKS, support, { ...FORM, supersedes: 'another' });
  expect([unknown.status, unknown.body.includes('name a payment by its id')]).toEqual([400, true]);
});
