import { createHmac, createSecretKey } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { NotificationId } from '../../src/domain/values/ids.ts';
import { createdFacts, sessionPaid } from '../support/session-facts.ts';
import { headerOf, ScriptedSender } from '../support/scripted-sender.ts';
import { StoreUnavailable, type EventStore } from '../../src/ports/event-log/event-store.ts';
import { silentLog } from '../../src/ports/log.ts';
import { RETRY_SCHEDULE } from '../../state-machines/webhook-delivery/delivery.decider.ts';
import type { Timers } from '../../src/ports/timers.ts';
import { VirtualTimers } from '../support/virtual-timers.ts';
import {
  merchantId,
  sessionId,
  until,
  WEBHOOK_SECRET,
  WebhookWorld,
  type WorldOptions,
} from '../support/webhook-world.ts';

/* The delivery process over the embedded store in virtual time: hours and days pass in moments. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Setting {
  readonly world: WebhookWorld;
  readonly timers: VirtualTimers;
  readonly sender: ScriptedSender;
  pass(ms: number): Promise<void>;
}

async function setting(options: WorldOptions = {}): Promise<Setting> {
  const timers = new VirtualTimers();
  const sender = new ScriptedSender(timers);
  const world = await WebhookWorld.open({ timers, sender, ...options });
  cleanups.push(() => world.dispose());
  world.directory.set(merchantId(1), 'https://one.example.org/');
  await world.process.start();
  const isQuiet = (): boolean => world.process.stats.working === stuck(sender) && world.process.stats.lag === 0;
  return { world, timers, sender, pass: (ms) => timers.pass(ms, isQuiet) };
}

/** Attempts that the script never answers. */
const stuck = (sender: ScriptedSender): number => sender.inFlight;

const gapsSec = (times: readonly number[]): number[] =>
  times.slice(1).map((time, index) => (time - times[index]!) / SECOND);

describe('the quick retries', () => {
  it('W11: follow 1, 2, 4, 8 and 16 s after each failure, five times and never again, with the same id and bytes', async () => {
    const { world, sender, pass } = await setting();
    sender.answer = () => ({ status: 500 });
    const id = await world.cancelled(1);
    await pass(30 * DAY);
    const gaps = gapsSec(sender.sent.map((sent) => sent.atMs));
    expect(gaps).toHaveLength(5);
    gaps.forEach((gap, index) => {
      expect(gap).toBeGreaterThanOrEqual(2 ** index);
      expect(gap).toBeLessThanOrEqual(2 ** index * 1.1 + 0.001);
    });
    expect(new Set(sender.sent.map((sent) => sent.body)).size).toBe(1);
    expect(new Set(sender.sent.map((sent) => headerOf(sent, 'X-Service-Nonce'))).size).toBe(6);
    expect((await world.history(id)).at(-1)?.type).toBe('DeliveryExhausted');
    expect(world.alarms).toContainEqual(expect.objectContaining({ kind: 'exhausted', notificationId: id }));
  });

  it.each([400, 401, 403, 404, 408, 410, 425, 302])('W11: do not follow %i', async (status) => {
    const { world, sender, pass } = await setting();
    sender.answer = () => ({ status });
    const id = await world.cancelled(1);
    await pass(DAY);
    expect(sender.sent).toHaveLength(1);
    expect((await world.history(id)).at(-1)?.type).toBe('DeliveryRejected');
  });

  it('W12: respect Retry-After upwards to 60 s', async () => {
    const { world, sender, pass } = await setting();
    const headers = ['5', '0', '-1', '1000000000', 'rubbish'];
    sender.answer = (_, count) => ({ status: 503, retryAfter: headers[count - 1] ?? null });
    await world.cancelled(1);
    await pass(HOUR);
    const gaps = gapsSec(sender.sent.map((sent) => sent.atMs));
    const expected = [5, 2, 4, 60, 16];
    expect(gaps).toHaveLength(expected.length);
    gaps.forEach((gap, index) => {
      expect(gap).toBeGreaterThanOrEqual(expected[index]!);
      expect(gap).toBeLessThanOrEqual(expected[index]! * 1.1 + 0.001);
    });
  });

  it('sign each attempt again, at its own time', async () => {
    const { world, sender, pass } = await setting();
    sender.answer = (_, count) => ({ status: count < 3 ? 500 : 200 });
    await world.cancelled(1);
    await pass(MINUTE);
    for (const sent of sender.sent) {
      const timestamp = headerOf(sent, 'X-Service-Timestamp')!;
      expect(Number(timestamp)).toBe(Math.floor(sent.atMs / SECOND));
      const expected = createHmac('sha256', WEBHOOK_SECRET)
        .update(`${timestamp}.${headerOf(sent, 'X-Service-Nonce')}.${sent.body}`)
        .digest('hex');
      expect(headerOf(sent, 'X-Service-Signature')).toBe(expected);
    }
  });

  it('continue where they were after a restart', async () => {
    const { world, sender, timers, pass } = await setting();
    sender.answer = () => ({ status: 500 });
    await world.cancelled(1);
    await pass(4 * SECOND);
    expect(sender.sent).toHaveLength(3);
    await world.reopen();
    await world.process.start();
    await timers.pass(HOUR, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
    expect(sender.sent).toHaveLength(6);
    const gaps = gapsSec(sender.sent.map((sent) => sent.atMs));
    gaps.forEach((gap, index) => expect(gap).toBeGreaterThanOrEqual(2 ** index));
  });
});

describe('order', () => {
  const events = (id: number): SessionEvent[] => [
    {
      type: 'SessionCreated',
      data: createdFacts({ sessionId: sessionId(id), merchantId: merchantId(1), orderId: `order-${id}` }),
    },
    { type: 'SessionExpired', data: { expiredAtSec: 1, coin: 'USDT', received: '0.00', scannedToSec: {} } },
    sessionPaid({ paidAtSec: 2, afterExpiry: true }),
  ];

  it('of first attempts of one session is that of its events, one after another', async () => {
    const { world, sender, pass } = await setting();
    const open: (() => void)[] = [];
    sender.answer = () => new Promise((resolve) => open.push(() => resolve({ status: 200 })));
    const [expired, paid] = await world.tell(sessionId(1), ...events(1));
    await pass(10 * SECOND);
    expect(sender.sent.map((sent) => sent.id)).toEqual([expired]);
    open[0]!();
    await pass(SECOND);
    expect(sender.sent.map((sent) => sent.id)).toEqual([expired, paid]);
    open[1]!();
    expect(JSON.parse(sender.of(paid!)[0]!.body).data.object).toMatchObject({
      status: 'completed',
      after_expiry: true,
    });
  });

  it('of first attempts is kept if the process ends while it schedules the deliveries of one session', async () => {
    let schedules = 0;
    let isAway = true;
    const oneOnly = (types: string[]): void => {
      if (types.includes('DeliveryScheduled') && isAway && ++schedules > 1)
        throw new StoreUnavailable('the test took it away');
    };
    const { world, sender, timers, pass } = await setting({ store: watched({ before: oneOnly }) });
    await pass(0);
    // Nothing is attempted, and schedules are written at once.
    world.directory.change(merchantId(1), { suspended: true });
    const [expired, paid] = await world.tell(sessionId(1), ...events(1));
    await until('the first schedule', () => schedules > 1);
    await world.reopen();
    expect((await world.history(expired!)).map(({ type }) => type)).toEqual(['DeliveryScheduled']);
    expect(await world.history(paid!)).toEqual([]);
    isAway = false;
    world.directory.change(merchantId(1), { suspended: false });
    await world.process.start();
    await timers.pass(MINUTE, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
    expect(sender.sent.map((sent) => sent.id)).toEqual([expired, paid]);
  });

  it('of first attempts is kept if the store cannot say what state a delivery has', async () => {
    let failures = 0;
    const forgetful = (store: EventStore): EventStore =>
      new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (name !== 'readStream') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          return async (...given: Parameters<EventStore['readStream']>) => {
            if (given[0].startsWith('delivery-') && failures-- > 0) throw new StoreUnavailable('the test took it away');
            return target.readStream(...given);
          };
        },
      });
    const { world, sender, timers, pass } = await setting({ store: forgetful });
    await pass(0);
    world.directory.change(merchantId(1), { suspended: true });
    const told = await world.tell(sessionId(1), ...events(1));
    await pass(10 * SECOND);
    await world.reopen();
    world.directory.change(merchantId(1), { suspended: false });
    failures = 1;
    await world.process.start();
    await until('the attempts', async () => {
      await timers.pass(SECOND, () => true);
      return sender.sent.length === told.length;
    });
    expect(sender.sent.map((sent) => sent.id)).toEqual(told);
  });

  it('of first attempts does not depend on the clock, which may be set back before them', async () => {
    const virtual = new VirtualTimers();
    let setBackMs = 0;
    const timers: Timers = {
      nowMs: () => virtual.nowMs() - setBackMs,
      at: (dueAtMs, run) => virtual.at(dueAtMs + setBackMs, run),
    };
    const sender = new ScriptedSender(timers);
    const { world } = await setting({ timers, sender });
    const pass = (ms: number): Promise<void> =>
      virtual.pass(ms, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
    await pass(SECOND);
    world.directory.change(merchantId(1), { suspended: true });
    const [created, expired, paid] = events(1);
    const before = await world.tell(sessionId(1), created!, expired!);
    await pass(SECOND);
    setBackMs = 10 * MINUTE;
    world.directory.change(merchantId(1), { suspended: false });
    const after = await world.tell(sessionId(1), paid!);
    await pass(SECOND);
    expect(sender.sent.map((sent) => sent.id)).toEqual([...before, ...after]);
  });

  it('does not wait for retries: a failing event delays neither its session nor others', async () => {
    const { world, sender, pass } = await setting();
    const [expired, paid] = await world.tell(sessionId(1), ...events(1));
    sender.answer = (sent) => ({ status: sent.id === expired ? 500 : 200 });
    const other = await world.cancelled(2);
    await pass(500);
    expect(sender.of(paid!)).toHaveLength(1);
    expect(sender.of(other)).toHaveLength(1);
    expect(sender.of(expired!)).toHaveLength(1);
  });

  it('survives a backlog larger than memory can hold', async () => {
    const { world, sender, pass } = await setting({
      process: { limits: { windowPerMerchant: 4, jobs: 8, crowdedWindow: 2 } },
    });
    world.directory.change(merchantId(1), { suspended: true });
    const order: NotificationId[] = [];
    for (let session = 1; session <= 30; session++)
      order.push(...(await world.tell(sessionId(session), ...events(session))));
    await pass(SECOND);
    expect(sender.sent).toHaveLength(0);
    expect(world.process.stats.inMemory).toBeLessThanOrEqual(8);
    world.directory.change(merchantId(1), { suspended: false });
    await pass(HOUR);
    expect(new Set(sender.sent.map((sent) => sent.id))).toEqual(new Set(order));
    expect(sender.sent).toHaveLength(order.length);
    for (let index = 0; index < order.length; index += 2) {
      const [first, second] = [order[index]!, order[index + 1]!].map((id) =>
        sender.sent.findIndex((sent) => sent.id === id),
      );
      expect(first!).toBeLessThan(second!);
    }
  });
});

describe('an endpoint', () => {
  it('W26: that was removed is no longer called; what is left waits, and in the end the delivery shows why', async () => {
    const { world, sender, pass } = await setting();
    sender.answer = () => ({ status: 500 });
    const id = await world.cancelled(1);
    await pass(500);
    world.directory.remove(merchantId(1));
    await pass(DAY);
    expect(sender.sent).toHaveLength(1);
    expect((await world.history(id)).map(({ type }) => type)).toEqual(['DeliveryScheduled', 'DeliveryAttempted']);
    await pass(7 * DAY);
    expect(sender.sent).toHaveLength(1);
    expect((await world.history(id)).at(-1)).toMatchObject({
      type: 'DeliveryRejected',
      data: { failure: 'no_endpoint' },
    });
  });

  it('W26: that moved gets the retries at its new URL, signed with its new secret', async () => {
    const { world, sender, pass } = await setting();
    sender.answer = () => ({ status: 500 });
    await world.cancelled(1);
    await pass(500);
    world.directory.set(merchantId(1), 'https://two.example.org/', { secret: createSecretKey(Buffer.from('another')) });
    await pass(HOUR);
    const [first, ...rest] = sender.sent;
    expect(first!.url).toBe('https://one.example.org/');
    expect(rest).toHaveLength(5);
    for (const sent of rest) {
      expect(sent.url).toBe('https://two.example.org/');
      const signed = `${headerOf(sent, 'X-Service-Timestamp')}.${headerOf(sent, 'X-Service-Nonce')}.${sent.body}`;
      expect(headerOf(sent, 'X-Service-Signature')).toBe(createHmac('sha256', 'another').update(signed).digest('hex'));
    }
  });

  it('whose new secret is issued but not active signs with both, until the new one takes over automatically', async () => {
    const { world, sender, timers, pass } = await setting();
    const activatesAtSec = Math.floor(timers.nowMs() / SECOND) + 24 * 3600;
    world.directory.change(merchantId(1), {
      nextSecret: { key: createSecretKey(Buffer.from('next')), activatesAtSec },
    });
    const signedWith = (index: number, header: string): string | undefined => {
      const sent = sender.sent[index]!;
      const text = `${headerOf(sent, 'X-Service-Timestamp')}.${headerOf(sent, 'X-Service-Nonce')}.${sent.body}`;
      return [WEBHOOK_SECRET, 'next'].find(
        (secret) => createHmac('sha256', secret).update(text).digest('hex') === headerOf(sent, header),
      );
    };
    await world.cancelled(1);
    await pass(DAY - 10 * SECOND);
    expect([signedWith(0, 'X-Service-Signature'), signedWith(0, 'X-Service-Signature-Next')]).toEqual([
      WEBHOOK_SECRET,
      'next',
    ]);
    await pass(10 * SECOND);
    await world.cancelled(2);
    await pass(SECOND);
    expect(signedWith(1, 'X-Service-Signature')).toBe('next');
    expect(headerOf(sender.sent[1]!, 'X-Service-Signature-Next')).toBeUndefined();
  });

  it('of a merchant without one is waited for: events meanwhile are sent in order once it is set, at a limited pace', async () => {
    const { world, sender, pass } = await setting();
    const ids: string[] = [];
    for (let session = 1; session <= 30; session += 1) ids.push(await world.cancelled(session, 2));
    await pass(3 * DAY);
    expect(sender.sent).toHaveLength(0);
    world.directory.set(merchantId(2), 'https://two.example.org/');
    await pass(SECOND);
    expect(sender.sent.length).toBeLessThan(15);
    await pass(MINUTE);
    expect(sender.sent.map((sent) => headerOf(sent, 'X-Service-Event-ID'))).toEqual(ids);
  });

  it('of a merchant without one is waited for over a restart', async () => {
    const { world, sender, pass } = await setting();
    const id = await world.cancelled(1, 2);
    await pass(MINUTE);
    await world.reopen();
    await world.process.start();
    await pass(MINUTE);
    expect(sender.sent).toHaveLength(0);
    world.directory.set(merchantId(2), 'https://two.example.org/');
    await pass(MINUTE);
    expect(sender.sent.map((sent) => headerOf(sent, 'X-Service-Event-ID'))).toEqual([id]);
  });

  it('of a merchant without one is not waited for longer than documented, and the delivery can be sent again', async () => {
    const { world, sender, pass } = await setting();
    const old = await world.cancelled(1, 2);
    await pass(6 * DAY);
    const young = await world.cancelled(2, 2);
    await pass(2 * DAY);
    expect((await world.history(old)).at(-1)).toMatchObject({
      type: 'DeliveryRejected',
      data: { failure: 'no_endpoint' },
    });
    expect((await world.history(young)).map(({ type }) => type)).toEqual(['DeliveryScheduled']);
    world.directory.set(merchantId(2), 'https://two.example.org/');
    await pass(MINUTE);
    expect(sender.sent.map((sent) => headerOf(sent, 'X-Service-Event-ID'))).toEqual([young]);
    await world.redeliver(old);
    await pass(MINUTE);
    expect((await world.history(old)).at(-1)).toMatchObject({ type: 'DeliverySucceeded' });
  });

  it('of a merchant without one is waited for by as many deliveries as documented, the newest', async () => {
    const { world, pass } = await setting({ process: { waiting: { forMs: DAY, perMerchant: 3 } } });
    const ids: NotificationId[] = [];
    for (let session = 1; session <= 5; session += 1) ids.push(await world.cancelled(session, 2));
    await pass(2 * HOUR);
    const ends = await Promise.all(ids.map(async (id) => (await world.history(id)).at(-1)!.type));
    expect(ends).toEqual([
      'DeliveryRejected',
      'DeliveryRejected',
      'DeliveryScheduled',
      'DeliveryScheduled',
      'DeliveryScheduled',
    ]);
  });

  it('that returns 410 three times in a row is suspended, and its events wait for it', async () => {
    const { world, sender, pass } = await setting();
    sender.answer = () => ({ status: 410 });
    for (let session = 1; session <= 3; session++) {
      await world.cancelled(session);
      await pass(SECOND);
    }
    expect(world.directory.endpointOf(merchantId(1))?.suspended).toBe(true);
    expect(world.alarms).toContainEqual(expect.objectContaining({ kind: 'suspended', reason: 'gone' }));
    const waiting = await world.cancelled(4);
    await pass(DAY);
    expect(sender.of(waiting)).toHaveLength(0);
    sender.answer = () => ({ status: 200 });
    world.directory.change(merchantId(1), { suspended: false });
    await pass(MINUTE);
    expect(sender.of(waiting)).toHaveLength(1);
  });

  it('that returns 410 twice, then anything else, continues', async () => {
    const { world, sender, pass } = await setting();
    sender.answer = (_, count) => ({ status: count === 3 ? 404 : 410 });
    for (let session = 1; session <= 5; session++) {
      await world.cancelled(session);
      await pass(SECOND);
    }
    expect(world.directory.endpointOf(merchantId(1))?.suspended).toBe(false);
  });

  it('W22: that fails every second attempt gets everything and is not suspended', async () => {
    const { world, sender, pass } = await setting();
    sender.answer = (_, count) => ({ status: count % 2 === 1 ? 500 : 200 });
    const ids: NotificationId[] = [];
    for (let session = 0; session < 24; session++) {
      ids.push(await world.cancelled(session));
      await pass(DAY / 3);
    }
    for (const id of ids) expect((await world.history(id)).at(-1)?.type).toBe('DeliverySucceeded');
    expect(world.directory.endpointOf(merchantId(1))?.suspended).toBe(false);
  });

  it('that has only failed for five days is suspended, not a day earlier', async () => {
    const { world, sender, pass } = await setting();
    sender.answer = () => ({ status: 500 });
    for (let day = 0; day < 5; day++) {
      await world.cancelled(day);
      await pass(DAY);
      expect(world.directory.endpointOf(merchantId(1))?.suspended).toBe(false);
    }
    await world.cancelled(6);
    await pass(MINUTE);
    expect(world.directory.endpointOf(merchantId(1))?.suspended).toBe(true);
    expect(world.alarms).toContainEqual(expect.objectContaining({ kind: 'suspended', reason: 'only_failures' }));
  });

  it('remembers across restarts since when an endpoint has been failing', async () => {
    const { world, sender, timers, pass } = await setting();
    sender.answer = () => ({ status: 500 });
    for (let day = 0; day < 3; day++) {
      await world.cancelled(day);
      await pass(DAY);
    }
    await world.reopen();
    await world.process.start();
    const go = (ms: number): Promise<void> =>
      timers.pass(ms, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
    await go(2 * DAY);
    await world.cancelled(4);
    await go(MINUTE);
    expect(world.directory.endpointOf(merchantId(1))?.suspended).toBe(true);
  });

  it('that was resumed is not suspended again for earlier failures', async () => {
    const { world, sender, pass } = await setting();
    sender.answer = () => ({ status: 500 });
    for (let day = 0; day <= 5; day++) {
      await world.cancelled(day);
      await pass(DAY);
    }
    world.directory.change(merchantId(1), { suspended: false });
    await world.cancelled(10);
    await pass(MINUTE);
    expect(world.directory.endpointOf(merchantId(1))?.suspended).toBe(false);
  });

  it('W24: that comes back after suspension gets its backlog at a limited pace, each event once, in order', async () => {
    const { world, sender, pass } = await setting({ process: { limits: { windowPerMerchant: 20 } } });
    world.directory.change(merchantId(1), { suspended: true });
    const ids: NotificationId[] = [];
    for (let session = 1; session <= 60; session++) ids.push(await world.cancelled(session));
    await pass(DAY);
    world.directory.change(merchantId(1), { suspended: false });
    await pass(MINUTE);
    expect(sender.sent.map((sent) => sent.id)).toEqual(ids);
    const perSecond = new Map<number, number>();
    for (const sent of sender.sent)
      perSecond.set(Math.floor(sent.atMs / SECOND), (perSecond.get(Math.floor(sent.atMs / SECOND)) ?? 0) + 1);
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(11);
  });
});

describe('a drain', () => {
  it('keeps its pace across a restart', async () => {
    const { world, sender, timers, pass } = await setting();
    world.directory.change(merchantId(1), { suspended: true });
    const ids: NotificationId[] = [];
    for (let session = 1; session <= 60; session++) ids.push(await world.cancelled(session));
    await pass(SECOND);
    world.directory.change(merchantId(1), { suspended: false });
    await pass(2 * SECOND);
    expect(sender.sent.length).toBeLessThan(30);
    await world.reopen();
    await world.process.start();
    await timers.pass(MINUTE, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
    expect(sender.sent.map((sent) => sent.id)).toEqual(ids);
    const perSecond = new Map<number, number>();
    for (const sent of sender.sent)
      perSecond.set(Math.floor(sent.atMs / SECOND), (perSecond.get(Math.floor(sent.atMs / SECOND)) ?? 0) + 1);
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(12);
  });

  it('is slow also when the endpoint was suspended and resumed while the process was down', async () => {
    const { world, sender, timers, pass } = await setting();
    world.directory.change(merchantId(1), { suspended: true });
    for (let session = 1; session <= 40; session++) await world.cancelled(session);
    await pass(2 * SECOND);
    await world.reopen();
    await world.process.start();
    const go = (ms: number): Promise<void> =>
      timers.pass(ms, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
    await go(SECOND);
    world.directory.change(merchantId(1), { suspended: false });
    await go(SECOND);
    expect(sender.sent.length).toBeLessThanOrEqual(12);
    await go(MINUTE);
    expect(sender.sent).toHaveLength(40);
  });
});

describe('durable redelivery', () => {
  it('W24: delivers every event of a day-long outage, at a limited pace', async () => {
    const { world, sender, timers, pass } = await setting({
      process: { schedule: { ...RETRY_SCHEDULE, jitterShare: 0 } },
    });
    world.directory.change(merchantId(1), { durableRedelivery: true });
    const backAtMs = timers.nowMs() + DAY;
    sender.answer = () => ({ status: timers.nowMs() < backAtMs ? 503 : 200 });
    const ids: NotificationId[] = [];
    for (let session = 1; session <= 20; session++) ids.push(await world.cancelled(session));
    await pass(3 * DAY);
    for (const id of ids) expect((await world.history(id)).at(-1)?.type).toBe('DeliverySucceeded');
    const after = sender.sent.filter((sent) => sent.atMs >= backAtMs);
    expect(new Set(after.map((sent) => sent.id)).size).toBe(20);
    const perSecond = new Map<number, number>();
    for (const sent of after)
      perSecond.set(Math.floor(sent.atMs / SECOND), (perSecond.get(Math.floor(sent.atMs / SECOND)) ?? 0) + 1);
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(11);
  });

  it('survives restarts between its attempts, and ends after 72 h', async () => {
    const { world, sender, timers, pass } = await setting();
    world.directory.change(merchantId(1), { durableRedelivery: true });
    sender.answer = () => ({ status: 500 });
    const started = timers.nowMs();
    await world.cancelled(1);
    await pass(HOUR);
    const before = sender.sent.length;
    expect(before).toBe(8);
    for (let round = 0; round < 4; round++) {
      await world.reopen();
      await world.process.start();
      await timers.pass(DAY, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
    }
    const hours = sender.sent.slice(6).map((sent) => (sent.atMs - started) / HOUR);
    expect(hours.length).toBeGreaterThanOrEqual(9);
    expect(hours.at(-1)).toBeLessThanOrEqual(72);
    expect(gapsSec(sender.sent.map((sent) => sent.atMs))[5]).toBeGreaterThanOrEqual(300);
  });

  it('pauses while the endpoint is suspended, and continues afterwards', async () => {
    const { world, sender, pass } = await setting();
    world.directory.change(merchantId(1), { durableRedelivery: true });
    sender.answer = () => ({ status: 500 });
    const id = await world.cancelled(1);
    await pass(2 * MINUTE);
    world.directory.change(merchantId(1), { suspended: true });
    await pass(DAY);
    expect(sender.sent).toHaveLength(6);
    sender.answer = () => ({ status: 200 });
    world.directory.change(merchantId(1), { suspended: false });
    await pass(HOUR);
    expect((await world.history(id)).at(-1)?.type).toBe('DeliverySucceeded');
  });
});

describe('W25: redeliveries', () => {
  it('asked for while an attempt is under way get an attempt of their own when that one fails', async () => {
    const { world, sender, pass } = await setting();
    const open: (() => void)[] = [];
    sender.answer = (_, count) =>
      count === 1 ? new Promise((resolve) => open.push(() => resolve({ status: 404 }))) : { status: 200 };
    const id = await world.cancelled(1);
    await pass(SECOND);
    await world.redeliver(id);
    await pass(SECOND);
    expect(sender.of(id)).toHaveLength(1);
    open[0]!();
    await pass(SECOND);
    expect(sender.of(id)).toHaveLength(2);
    expect((await world.history(id)).at(-1)?.type).toBe('DeliverySucceeded');
  });

  it('that coincide with a retry and each other never overlap, and send the same bytes', async () => {
    const { world, sender, pass } = await setting();
    let running = 0;
    let overlapped = false;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    sender.answer = async (_, count) => {
      running += 1;
      overlapped ||= running > 1;
      // The first retry is under way while all the others ask.
      if (count === 2) await held;
      running -= 1;
      return { status: 500 };
    };
    const id = await world.cancelled(1);
    await pass(2 * SECOND);
    await Promise.all([world.redeliver(id), world.redeliver(id, true), world.redeliver(id)]);
    await pass(SECOND);
    release();
    await pass(HOUR);
    expect(overlapped).toBe(false);
    expect(new Set(sender.of(id).map((sent) => sent.body)).size).toBe(1);
    const attempts = (await world.history(id)).flatMap((event) =>
      event.type === 'DeliveryAttempted' ? [event.data.attempt] : [],
    );
    expect(attempts).toEqual(attempts.map((_, index) => index + 1));
  });

  it('in bulk are sent in the order of the requests, at a limited pace', async () => {
    const { world, sender, pass } = await setting();
    const ids: NotificationId[] = [];
    for (let session = 1; session <= 25; session++) ids.push(await world.cancelled(session));
    await pass(SECOND);
    sender.sent.length = 0;
    for (const id of ids) await world.redeliver(id, true);
    await pass(500);
    expect(sender.sent.length).toBeLessThanOrEqual(7);
    await pass(MINUTE);
    expect(sender.sent.map((sent) => sent.id)).toEqual(ids);
  });

  it('asked for while the process is down are made when it is back', async () => {
    const { world, sender, timers, pass } = await setting();
    const id = await world.cancelled(1);
    await pass(SECOND);
    await world.reopen();
    await world.redeliver(id);
    await world.process.start();
    await timers.pass(MINUTE, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
    expect(sender.of(id)).toHaveLength(2);
  });
});

/** The store with a hand on its appends: `before` and `after` may throw. */
function watched(hooks: { before?: (types: string[]) => void; after?: (types: string[]) => void }) {
  return (store: EventStore): EventStore =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'append') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        return async (...[request]: Parameters<EventStore['append']>) => {
          const types = request.events.map((event) => event.type);
          hooks.before?.(types);
          const result = await target.append(request);
          hooks.after?.(types);
          return result;
        };
      },
    });
}

describe('recording', () => {
  it('a new event and a quick response take one append', async () => {
    const appends: string[][] = [];
    const { world, pass } = await setting({ store: watched({ after: (types) => appends.push(types) }) });
    await pass(0);
    const id = await world.cancelled(1);
    await pass(SECOND);
    expect(appends).toEqual([
      ['SessionCreated', 'SessionCancelled'],
      ['DeliveryScheduled', 'DeliveryAttempted', 'DeliverySucceeded'],
    ]);
    expect((await world.history(id)).map((event) => event.type)).toEqual(appends[1]);
  });

  it('does not wait for a slow response', async () => {
    const { world, sender, pass } = await setting();
    await pass(0);
    const open: (() => void)[] = [];
    sender.answer = () => new Promise((resolve) => open.push(() => resolve({ status: 200 })));
    const id = await world.cancelled(1);
    await pass(SECOND);
    expect(sender.of(id)).toHaveLength(1);
    expect((await world.history(id)).map((event) => event.type)).toEqual(['DeliveryScheduled']);
    expect(world.process.stats.unsettled).toBe(0);
    open[0]!();
    await pass(SECOND);
    expect((await world.history(id)).map((event) => event.type)).toEqual([
      'DeliveryScheduled',
      'DeliveryAttempted',
      'DeliverySucceeded',
    ]);
  });

  it('an outcome survives an unavailable store, and one that does not confirm, without another attempt', async () => {
    const faults = ['lost before', 'lost after', 'lost before', 'none'];
    const strike = (when: string) => (types: string[]) => {
      if (!types.includes('DeliveryAttempted') || faults[0] !== when) return;
      faults.shift();
      throw new StoreUnavailable('the test took it away');
    };
    const { world, sender, timers } = await setting({
      store: watched({ before: strike('lost before'), after: strike('lost after') }),
    });
    sender.answer = (_, count) => ({ status: count === 1 ? 500 : 200 });
    const id = await world.cancelled(1);
    await until('the outcome', async () => {
      await timers.pass(200, () => true);
      return (await world.history(id)).at(-1)?.type === 'DeliverySucceeded';
    });
    expect(faults).toEqual(['none']);
    expect(sender.of(id)).toHaveLength(2);
    expect((await world.history(id)).map((event) => event.type)).toEqual([
      'DeliveryScheduled',
      'DeliveryAttempted',
      'DeliveryAttempted',
      'DeliverySucceeded',
    ]);
  });

  it('processes a backlog larger than memory from before the first start', async () => {
    const timers = new VirtualTimers();
    const sender = new ScriptedSender(timers);
    const world = await WebhookWorld.open({
      timers,
      sender,
      process: { limits: { windowPerMerchant: 4, jobs: 8, crowdedWindow: 2 } },
    });
    cleanups.push(() => world.dispose());
    world.directory.set(merchantId(1), 'https://one.example.org/', { suspended: true });
    const ids: NotificationId[] = [];
    for (let session = 1; session <= 40; session++) ids.push(await world.cancelled(session));
    await world.process.start();
    const pass = (ms: number): Promise<void> =>
      timers.pass(ms, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
    await pass(10 * SECOND);
    await world.reopen();
    await world.process.start();
    await pass(10 * SECOND);
    world.directory.change(merchantId(1), { suspended: false });
    await pass(MINUTE);
    expect(sender.sent.map((sent) => sent.id)).toEqual(ids);
  });
});

describe('an event that cannot be read', () => {
  it('is delivered once a later build can read it', async () => {
    const { world, sender, timers, pass } = await setting();
    const session = sessionId(1);
    const created: SessionEvent = {
      type: 'SessionCreated',
      data: createdFacts({ sessionId: session, merchantId: merchantId(1) }),
    };
    await world.tell(session, created, {
      type: 'SessionCancelled',
      data: { cancelledAtSec: 1, coin: 'USDT', received: '0.00', inFlight: false },
    });
    await pass(SECOND);
    sender.sent.length = 0;
    // As an older build would have left it: set aside, the checkpoint beyond it, nothing scheduled.
    const [recorded] = await world.store.readStream(`session-${session}`, { from: 1 });
    const other = await WebhookWorld.open({ timers, sender, directory: world.directory });
    cleanups.push(() => other.dispose());
    const [id] = await other.tell(session, created, {
      type: 'SessionCancelled',
      data: { cancelledAtSec: 1, coin: 'USDT', received: '0.00', inFlight: false },
    });
    const head = (await other.store.head())!;
    const row = { stream: recorded!.stream, revision: 1, type: 'SessionCancelled' };
    await other.readModel.apply('deliver-webhooks', [{ op: 'put', table: 'webhook-parked', key: head, row }], head);
    await other.process.start();
    await timers.pass(10 * SECOND, () => other.process.stats.working === 0 && other.process.stats.lag === 0);
    expect(sender.sent.map((sent) => sent.id)).toEqual([id]);
    expect(await other.readModel.scan('webhook-parked', { limit: 10 })).toEqual([]);
  });

  it('is skipped with an alarm, and the others are delivered', async () => {
    const { world, sender, pass } = await setting();
    const orphan: SessionEvent = {
      type: 'SessionCancelled',
      data: { cancelledAtSec: 1, coin: 'USDT', received: '0.00', inFlight: false },
    };
    await world.tell(sessionId(1), orphan);
    const id = await world.cancelled(2);
    await pass(SECOND);
    expect(sender.of(id)).toHaveLength(1);
    expect(world.alarms).toContainEqual(expect.objectContaining({ kind: 'parked' }));
  });

  it('is named in the log, but of many that a start meets only the first and their number are', async () => {
    const lines: object[] = [];
    const log = { ...silentLog, error: (line: object) => void lines.push(line) };
    const { world, timers } = await setting({ process: { log } });
    const cancelled = { cancelledAtSec: 1, coin: 'USDT', received: '0.00', inFlight: false } as const;
    const pass = () => timers.pass(SECOND, () => world.process.stats.lag === 0);
    await world.reopen();
    for (let number = 1; number <= 40; number += 1)
      await world.tell(sessionId(number), { type: 'SessionCancelled', data: cancelled });
    await world.process.start();
    await pass();
    expect(world.alarms.filter(({ kind }) => kind === 'parked')).toHaveLength(40);
    expect(lines).toHaveLength(6);
    expect(lines.at(-1)).toEqual({ events: 40, named: 5 });
    await world.tell(sessionId(41), { type: 'SessionCancelled', data: cancelled });
    await pass();
    expect(lines.at(-1)).toMatchObject({ stream: `session-${sessionId(41)}` });
  });
});
