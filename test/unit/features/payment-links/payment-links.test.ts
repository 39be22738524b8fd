import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { sessionStream } from '../../../../src/domain/streams.ts';
import { linkOfOrder, PaymentLinks, type PaymentLinkInput } from '../../../../src/features/payment-links/payment-links.ts';
import { createPaymentLinkHandler } from '../../../../src/features/shared/handlers/payment-link-handler.ts';
import { Sessions } from '../../../../src/features/sessions/sessions.ts';
import { NotificationIds } from '../../../../src/runtime/commands/notification-ids.ts';
import type { ManualClock } from '../../../support/price-feed.ts';
import { caller, sessionWorld } from '../../../support/session-world.ts';

const input: PaymentLinkInput = { amount: '10.00', currency: 'USDT', description: 'Mug', maxUses: 2, maxOpen: 2, endsAtSec: null };
const by = { actor: 'person:Ada', correlationId: 'con_1' };

/** Links of one merchant over a ledger in memory; the rows that list them are left to the tests of the console. */
function linkWorld() {
  const { deps, store, free } = sessionWorld();
  const { clock } = deps;
  const given: string[] = [];
  const sessions = new Sessions({
    ...deps,
    ...{ senders: {} as never, sessionOfRefund: async () => null, changes: { on: () => () => undefined }, isOurs: () => false },
    onAddressesGiven: (_mode, id) => void given.push(id),
  });
  const handler = createPaymentLinkHandler({ store, clock, random: nodeRandom, notificationIds: new NotificationIds(clock), soleWriter: true });
  const links = new PaymentLinks({
    ...{ handler, sessions, clock, random: nodeRandom, rates: deps.rates },
    readModel: { scan: async () => [] },
    servedRows: async () => undefined,
  });
  const made = async (change: Partial<PaymentLinkInput> = {}) => {
    const outcome = await links.create(caller, { ...input, ...change }, by);
    if (!outcome.ok) throw new Error(outcome.refusal.message);
    return outcome.value.linkId;
  };
  const end = async (id: string): Promise<void> => {
    const command = { type: 'CancelSession', nowSec: Math.floor(clock.nowMs() / 1000) } as const;
    await deps.sessions.execute(sessionStream(id as never), command, { correlationId: 'x', actor: 'test' });
  };
  return { links, made, store, free, given, clock, end };
}
const idOf = (outcome: Awaited<ReturnType<PaymentLinks['pay']>>): string => (outcome.ok ? outcome.value : outcome.refusal.code);

describe('a payment link for many', () => {
  it('makes one payment a page, named after the link, with its amount, and tells the merchant by which link it came', async () => {
    const { links, made, store, given } = linkWorld();
    const id = await made();
    const first = idOf(await links.pay(id, 'page-1', 'r1'));
    expect(idOf(await links.pay(id, 'page-1', 'r2'))).toBe(first);
    const second = idOf(await links.pay(id, 'page-2', 'r3'));
    expect(second).toMatch(/^cs_/);
    expect(second).not.toBe(first);
    const created = store.events
      .filter(({ type }) => type === 'SessionCreated')
      .map(({ data }) => JSON.parse(data) as { orderId: string; amount: string });
    expect(created.map(({ orderId, amount }) => [orderId, amount])).toEqual([
      [`${id}-1`, '10.00'],
      [`${id}-2`, '10.00'],
    ]);
    expect(store.events.find(({ type }) => type === 'SessionCreated')!.metadata).toContain(`payment-link:${id}`);
    expect([linkOfOrder(`${id}-1`), linkOfOrder('order-1'), linkOfOrder(`${id}-x`)]).toEqual([id, null, null]);
    expect(given).toEqual(expect.arrayContaining([first, second]));
    expect((await links.payments(caller, id, { limit: 10 }))?.payments.map(({ sessionId }) => sessionId)).toEqual([second, first]);
    expect((await links.payments(caller, id, { limit: 1 }))?.next).toBe(2);
  });

  it('is busy while all it may make wait, and makes another when one of them has ended', async () => {
    const { links, made, end, store, free } = linkWorld();
    const id = await made({ maxOpen: 1 });
    const first = idOf(await links.pay(id, 'page-1', 'r1'));
    const before = store.events.length;
    expect(idOf(await links.pay(id, 'page-2', 'r2'))).toBe('conflict');
    expect(store.events.length).toBe(before);
    expect((await links.get(caller, id))?.status).toBe('busy');
    await end(first);
    expect(await links.get(caller, id)).toMatchObject({ status: 'on', open: 0, paid: 0, made: 1 });
    free.push(3);
    expect(idOf(await links.pay(id, 'page-2', 'r3'))).toMatch(/^cs_/);
  });

  it('gives a page whose payment ended unpaid another one when it is pressed again', async () => {
    const { links, made, end, free } = linkWorld();
    const id = await made();
    const first = idOf(await links.pay(id, 'page-1', 'r1'));
    await end(first);
    free.push(3);
    const second = idOf(await links.pay(id, 'page-1', 'r2'));
    expect(second).toMatch(/^cs_/);
    expect(second).not.toBe(first);
    expect(idOf(await links.pay(id, 'page-1', 'r3'))).toBe(second);
  });

  it('keeps the place of a payment that could not be made for a minute, and then gives it to others', async () => {
    const { links, made, free, clock } = linkWorld();
    const id = await made({ maxOpen: 1 });
    free.length = 0;
    expect(idOf(await links.pay(id, 'page-1', 'r1'))).toBe('service_unavailable');
    free.push(7);
    expect(idOf(await links.pay(id, 'page-2', 'r2'))).toBe('conflict');
    // Whose page it is gets it nevertheless.
    expect(idOf(await links.pay(id, 'page-1', 'r3'))).toMatch(/^cs_/);
    const other = await made({ maxOpen: 1 });
    free.length = 0;
    await links.pay(other, 'page-1', 'r4');
    free.push(8);
    (clock as ManualClock).advance(61_000);
    expect(idOf(await links.pay(other, 'page-2', 'r5'))).toMatch(/^cs_/);
  });

  it('is nobody else’s, and makes nothing once it is off', async () => {
    const { links, made } = linkWorld();
    const id = await made();
    const stranger = { ...caller, merchantId: 'mer_other' as typeof caller.merchantId };
    expect(await links.get(stranger, id)).toBeNull();
    expect(await links.payments(stranger, id, { limit: 1 })).toBeNull();
    expect(await links.switchOff(stranger, id, 'mine', by)).toMatchObject({ ok: false, refusal: { code: 'not_found' } });
    expect(await links.switchOff(caller, id, 'sold out', by)).toMatchObject({
      ok: true,
      value: { status: 'off', switchedOff: { reason: 'sold out' } },
    });
    expect(idOf(await links.pay(id, 'page-1', 'r1'))).toBe('conflict');
  });

  it('is refused in a currency that has no rate', async () => {
    const { links } = linkWorld();
    expect(await links.create(caller, { ...input, currency: 'XAU' }, by)).toMatchObject({ ok: false, refusal: { param: 'currency' } });
  });
});
