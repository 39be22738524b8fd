import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { must } from '../../../../src/domain/values/must.ts';
import { sessionStream } from '../../../../src/domain/values/streams.ts';
import {
  linkOfOrder,
  PaymentLinks,
  type PaymentLinkInput,
  type Press,
} from '../../../../src/features/payment-links/payment-links.ts';
import {
  createPaymentLinkHandler,
  type PaymentLinkHandler,
} from '../../../../src/features/shared/handlers/payment-link-handler.ts';
import { Sessions } from '../../../../src/features/sessions/sessions.ts';
import type { ManualClock } from '../../../support/price-feed.ts';
import { caller, sessionWorld } from '../../../support/session-world.ts';
import { handlerDeps } from '../../../support/handler-deps.ts';

const input: PaymentLinkInput = {
  amount: '10.00',
  currency: 'USDT',
  description: 'Mug',
  maxUses: 2,
  maxOpen: 2,
  maxUnpaidPerDay: 10,
  endsAtSec: null,
};
const by = { actor: 'person:Ada', correlationId: 'con_1' };

/** Links of one merchant over an event log in memory; the rows that list them are left to the tests of the console. */
function linkWorld() {
  const { deps, store, free } = sessionWorld();
  const { clock } = deps;
  const given: string[] = [];
  const sessions = new Sessions({
    ...deps,
    senders: {} as never,
    sessionOfRefund: async () => null,
    changes: { on: () => () => undefined },
    onAddressesGiven: (_mode, id) => void given.push(id),
  });
  const handler = createPaymentLinkHandler(handlerDeps(store, clock));
  /** Sessions that the watcher found to be paid. */
  const paid = new Set<string>();
  const looked: string[] = [];
  const sessionOfOrder: Sessions['sessionOfOrder'] = async (reader, orderId) => {
    looked.push(orderId);
    const found = await sessions.sessionOfOrder(reader, orderId);
    return found && paid.has(found.sessionId) ? { ...found, status: 'paid' } : found;
  };
  const ofSessions = {
    createSession: sessions.createSession.bind(sessions),
    shopOf: sessions.shopOf.bind(sessions),
    sessionOfOrder,
  };
  const linksOver = (over: PaymentLinkHandler): PaymentLinks =>
    new PaymentLinks({
      ...{ handler: over, sessions: ofSessions, clock, random: nodeRandom, rates: deps.rates },
      readModel: { scan: async () => [] },
      servedRows: async () => undefined,
    });
  const links = linksOver(handler);
  const made = async (change: Partial<PaymentLinkInput> = {}) => {
    const outcome = await links.create(caller, { ...input, ...change }, by);
    if (!outcome.ok) throw new Error(outcome.refusal.message);
    return outcome.value.linkId;
  };
  const end = async (id: string): Promise<void> => {
    const command = { type: 'CancelSession', nowSec: Math.floor(clock.nowMs() / 1000) } as const;
    await deps.sessions.execute(sessionStream(id as never), command, { correlationId: 'x', actor: 'test' });
  };
  return { links, linksOver, handler, made, store, free, given, clock: clock as ManualClock, end, paid, looked };
}
/** Each page of a visitor of its own, unless one is named. */
const pressOf = (press: string, visitor = press): Press => ({ press, visitor });
const idOf = (outcome: Awaited<ReturnType<PaymentLinks['pay']>>): string =>
  outcome.ok ? outcome.value : outcome.refusal.code;

describe('a link for many payments', () => {
  it('creates one payment per page, named after the link, with its amount, and names the link to the merchant', async () => {
    const { links, made, store, given } = linkWorld();
    const id = await made();
    const first = idOf(await links.pay(id, pressOf('page-1'), 'r1'));
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r2'))).toBe(first);
    const second = idOf(await links.pay(id, pressOf('page-2'), 'r3'));
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
    expect((await links.payments(caller, id, { limit: 10 }))?.payments.map(({ sessionId }) => sessionId)).toEqual([
      second,
      first,
    ]);
    expect((await links.payments(caller, id, { limit: 1 }))?.next).toBe(2);
  });

  it('is busy while all it may make wait, and makes another when one of them has ended', async () => {
    const { links, made, end, store, free } = linkWorld();
    const id = await made({ maxOpen: 1 });
    const first = idOf(await links.pay(id, pressOf('page-1'), 'r1'));
    const before = store.events.length;
    expect(idOf(await links.pay(id, pressOf('page-2'), 'r2'))).toBe('conflict');
    expect(store.events.length).toBe(before);
    expect((await links.get(caller, id))?.status).toBe('busy');
    await end(first);
    expect(await links.get(caller, id)).toMatchObject({ status: 'on', open: 0, paid: 0, made: 1 });
    free.push(3);
    expect(idOf(await links.pay(id, pressOf('page-2'), 'r3'))).toMatch(/^cs_/);
  });

  it('creates another payment when a page whose payment ended unpaid is pressed again', async () => {
    const { links, made, end, free } = linkWorld();
    const id = await made();
    const first = idOf(await links.pay(id, pressOf('page-1'), 'r1'));
    await end(first);
    free.push(3);
    const second = idOf(await links.pay(id, pressOf('page-1'), 'r2'));
    expect(second).toMatch(/^cs_/);
    expect(second).not.toBe(first);
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r3'))).toBe(second);
  });

  it('keeps the slot of a payment that could not be created for a minute, and then frees it', async () => {
    const { links, made, free, clock } = linkWorld();
    const id = await made({ maxOpen: 1 });
    free.length = 0;
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r1'))).toBe('service_unavailable');
    free.push(7);
    expect(idOf(await links.pay(id, pressOf('page-2'), 'r2'))).toBe('conflict');
    // Whose page it is gets it nevertheless.
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r3'))).toMatch(/^cs_/);
    const other = await made({ maxOpen: 1 });
    free.length = 0;
    await links.pay(other, pressOf('page-1'), 'r4');
    free.push(8);
    clock.advance(61_000);
    expect(idOf(await links.pay(other, pressOf('page-2'), 'r5'))).toMatch(/^cs_/);
  });

  it('always leads a page to its paid payment, so that nobody pays twice by going back', async () => {
    const { links, made, paid, free } = linkWorld();
    free.push(3, 4);
    const id = await made({ maxUses: 5, maxOpen: 1 });
    const first = idOf(await links.pay(id, pressOf('page-1'), 'r1'));
    paid.add(first);
    expect(idOf(await links.pay(id, pressOf('page-2'), 'r2'))).toMatch(/^cs_/);
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r3'))).toBe(first);
    expect(await links.get(caller, id)).toMatchObject({ made: 2, paid: 1, open: 1 });
  });

  it('counts a payment that had expired and was paid after all: its page leads to it, and nobody is given its place again', async () => {
    const { links, made, paid, end, free } = linkWorld();
    free.push(3, 4);
    const id = await made({ maxUses: 2, maxOpen: 1 });
    const first = idOf(await links.pay(id, pressOf('page-1'), 'r1'));
    await end(first);
    const second = idOf(await links.pay(id, pressOf('page-2'), 'r2'));
    paid.add(first).add(second);
    expect(await links.get(caller, id)).toMatchObject({ status: 'used_up', paid: 2 });
    expect(idOf(await links.pay(id, pressOf('page-3'), 'r3'))).toBe('conflict');
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r4'))).toBe(first);
  });

  it('leads a page that has another payment by now to the earlier one if that was paid after all', async () => {
    const { links, made, paid, end, free } = linkWorld();
    free.push(3);
    const id = await made();
    const first = idOf(await links.pay(id, pressOf('page-1'), 'r1'));
    await end(first);
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r2'))).not.toBe(first);
    paid.add(first);
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r3'))).toBe(first);
  });

  it('counts one that was paid after all before it is forgotten', async () => {
    const { links, made, paid, end, free, clock } = linkWorld();
    free.push(3, 4);
    const id = await made({ maxUses: 9, maxOpen: 1 });
    const first = idOf(await links.pay(id, pressOf('page-1'), 'r1'));
    await end(first);
    await end(idOf(await links.pay(id, pressOf('page-2'), 'r2')));
    paid.add(first);
    clock.advance(86_400_000);
    await links.pay(id, pressOf('page-3'), 'r3');
    expect(await links.get(caller, id)).toMatchObject({ paid: 1, open: 1, made: 3 });
  });

  it('assigns no more addresses once too many payments of a day are unpaid', async () => {
    const { links, made, end, free } = linkWorld();
    free.push(3, 4);
    const id = await made({ maxUnpaidPerDay: 2 });
    await end(idOf(await links.pay(id, pressOf('page-1'), 'r1')));
    await end(idOf(await links.pay(id, pressOf('page-2'), 'r2')));
    const left = free.length;
    expect(idOf(await links.pay(id, pressOf('page-3'), 'r3'))).toBe('conflict');
    expect(free).toHaveLength(left);
    expect((await links.linkFor(id))?.link.status).toBe('paused');
  });

  it('lets one visitor use only a part of its limits, and says when they may create another', async () => {
    const { links, made, end, paid, free, clock } = linkWorld();
    free.push(3, 4, 5, 6, 7, 8);
    const id = await made({ maxUses: 100, maxOpen: 8, maxUnpaidPerDay: 40 });
    const pay = async (press: string, visitor: string) => idOf(await links.pay(id, pressOf(press, visitor), 'r'));
    const first = await pay('page-1', 'greedy');
    for (const page of ['page-2', 'page-3', 'page-4']) {
      clock.advance(60_000);
      await end(await pay(page, 'greedy'));
    }
    expect(await pay('page-5', 'greedy')).toBe('rate_limited');
    expect(await links.waitSec(id, 'greedy')).toBe(86_400 - 180);
    expect(await links.waitSec(id, 'another')).toBe(0);
    expect(await pay('page-6', 'another')).toMatch(/^cs_/);
    expect((await links.linkFor(id))?.link.status).toBe('on');
    // What they pay gives a place back, and one more.
    paid.add(first);
    expect(await pay('page-5', 'greedy')).toMatch(/^cs_/);
    expect(await pay('page-7', 'greedy')).toMatch(/^cs_/);
    expect(await pay('page-8', 'greedy')).toBe('rate_limited');
  });

  it('shows no button once it is full of payments that had expired and were paid after all', async () => {
    const { links, made, paid, end, free } = linkWorld();
    free.push(3, 4);
    const id = await made({ maxUses: 2 });
    const payments: string[] = [];
    for (const page of ['page-1', 'page-2', 'page-3']) {
      payments.push(idOf(await links.pay(id, pressOf(page), 'r')));
      await end(must(payments.at(-1)));
    }
    expect((await links.linkFor(id))?.link.status).toBe('on');
    for (const payment of payments.slice(0, 2)) paid.add(payment);
    expect((await links.linkFor(id))?.link.status).toBe('used_up');
  });

  it('creates no payment for an earlier number once it is off, and leads to an existing one', async () => {
    const { links, made, free } = linkWorld();
    const id = await made();
    const first = idOf(await links.pay(id, pressOf('page-1'), 'r1'));
    const addresses = free.splice(0);
    expect(idOf(await links.pay(id, pressOf('page-2'), 'r2'))).toBe('service_unavailable');
    free.push(...addresses);
    await links.switchOff(caller, id, 'sold out', by);
    expect(idOf(await links.pay(id, pressOf('page-2'), 'r3'))).toBe('conflict');
    expect(free).toEqual(addresses);
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r4'))).toBe(first);
  });

  it('creates no payment whose slot was freed while the process was paused', async () => {
    const { links, linksOver, handler, made, clock, free } = linkWorld();
    const id = await made({ maxOpen: 1 });
    const slow = linksOver({
      read: handler.read.bind(handler),
      execute: async (...given) => {
        const used = await handler.execute(...given);
        clock.advance(61_000);
        expect(idOf(await links.pay(id, pressOf('page-2'), 'r2'))).toMatch(/^cs_/);
        return used;
      },
    });
    expect(idOf(await slow.pay(id, pressOf('page-1'), 'r1'))).toBe('conflict');
    expect(free).toHaveLength(1);
  });

  it('reads none of its payments to be shown, and few of them when pressed', async () => {
    const { links, made, end, looked, free } = linkWorld();
    free.push(3, 4, 5, 6);
    const id = await made({ maxUses: 100, maxOpen: 4 });
    const first = idOf(await links.pay(id, pressOf('page-1'), 'r1'));
    await links.pay(id, pressOf('page-2'), 'r2');
    await end(first);
    looked.length = 0;
    expect((await links.linkFor(id))?.link.status).toBe('on');
    await links.shopFor(id);
    expect(looked).toEqual([]);
    // Half of the room is taken: what ended is noted, and not read again.
    await links.pay(id, pressOf('page-3'), 'r3');
    expect(looked).toEqual([`${id}-1`, `${id}-2`]);
    looked.length = 0;
    await links.pay(id, pressOf('page-4'), 'r4');
    expect(looked).toEqual([`${id}-2`, `${id}-3`]);
  });

  it('is nobody else’s, and makes nothing once it is off', async () => {
    const { links, made } = linkWorld();
    const id = await made();
    const stranger = { ...caller, merchantId: 'mer_other' as typeof caller.merchantId };
    expect(await links.get(stranger, id)).toBeNull();
    expect(await links.payments(stranger, id, { limit: 1 })).toBeNull();
    expect(await links.switchOff(stranger, id, 'mine', by)).toMatchObject({
      ok: false,
      refusal: { code: 'not_found' },
    });
    expect(await links.switchOff(caller, id, 'sold out', by)).toMatchObject({
      ok: true,
      value: { status: 'off', switchedOff: { reason: 'sold out' } },
    });
    expect(idOf(await links.pay(id, pressOf('page-1'), 'r1'))).toBe('conflict');
  });

  it('is refused in a currency that has no rate', async () => {
    const { links } = linkWorld();
    expect(await links.create(caller, { ...input, currency: 'XAU' }, by)).toMatchObject({
      ok: false,
      refusal: { param: 'currency' },
    });
  });
});
