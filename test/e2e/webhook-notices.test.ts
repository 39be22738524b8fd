import { afterEach, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { OptionalType } from '../../src/domain/notifications/types.ts';
import { answer, bodyOf, HostileReceiver } from '../support/hostile-receiver.ts';
import { createdFacts, depositFacts, EXPIRES_AT, depositDetected, depositConfirmed } from '../support/session-facts.ts';
import { deliveryIdOf, queueOfEndpoint } from '../../src/domain/notifications/delivery-ids.ts';
import { merchantId, sessionId, until, WebhookWorld, type TestDirectory } from '../support/webhook-world.ts';

/* What a merchant asked to be told beside outcomes, over real sockets. */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function world(
  optional: readonly OptionalType[],
): Promise<{ world: WebhookWorld; hook: HostileReceiver; types: () => string[] }> {
  const hook = await HostileReceiver.start(answer(200));
  cleanups.push(() => hook.close());
  const opened = await WebhookWorld.open();
  cleanups.push(() => opened.dispose());
  opened.directory.set(merchantId(1), hook.url);
  opened.directory.optional.set(merchantId(1), new Set(optional));
  return { world: opened, hook, types: () => hook.received.map((got) => bodyOf(got).type) };
}

const id = sessionId(1);
const created: SessionEvent = {
  type: 'SessionCreated',
  data: createdFacts({ sessionId: id, merchantId: merchantId(1) }),
};
const expired: SessionEvent = {
  type: 'SessionExpired',
  data: { expiredAtSec: EXPIRES_AT + 1, coin: 'USDT', received: '0.00', scannedToSec: {} },
};
const facts = depositFacts({ blockTimeSec: EXPIRES_AT + 5 });
const seen = depositDetected(facts, 'late');
const final = depositConfirmed(facts);

describe('an endpoint', () => {
  it('receives only outcomes unless it subscribes to more', async () => {
    const { world: opened, types } = await world([]);
    await opened.process.start();
    await opened.tell(id, created, expired, seen, final);
    await opened.cancelled(2);
    await until('both outcomes', () => types().length >= 2);
    expect(types().toSorted()).toEqual(['payment.cancelled', 'payment.expired']);
    expect(opened.alarms).toEqual([]);
  });

  it('receives late money in its turn, under the id assigned with the event', async () => {
    const { world: opened, hook, types } = await world(['payment.late']);
    await opened.process.start();
    const given = await opened.tell(id, created, expired, seen, final);
    await until('the notice', () => types().length === 2);
    expect(types()).toEqual(['payment.expired', 'payment.late']);
    const body = bodyOf(hook.received[1]!);
    expect(body.id).toBe(given.at(-1));
    expect(body.data.object).toMatchObject({
      ...{ amount: '0.00', status: 'late', reason: 'after_deadline', session_id: id },
      transfer: { amount: '10.00', currency: 'USDT', network: 'ethereum' },
    });
    const steps = async (): Promise<string[]> => (await opened.history(given.at(-1)!)).map(({ type }) => type);
    await until('the outcome', async () => (await steps()).length === 3);
    expect(await steps()).toEqual(['DeliveryScheduled', 'DeliveryAttempted', 'DeliverySucceeded']);
  });

  it('is notified once, with the same bytes, although the process was down in between', async () => {
    const { world: opened, hook, types } = await world(['payment.late']);
    await opened.tell(id, created, expired, seen, final);
    await opened.process.start();
    await until('the notice', () => types().length === 2);
    await opened.reopen();
    await opened.process.start();
    await opened.cancelled(2);
    await until('the next outcome', () => types().includes('payment.cancelled'));
    expect(types()).toEqual(['payment.expired', 'payment.late', 'payment.cancelled']);
    expect(new Set(hook.received.map((got) => bodyOf(got).id)).size).toBe(3);
  });
});

describe('a further endpoint', () => {
  const books = 'we_books';
  const further = queueOfEndpoint(merchantId(1), books);

  async function two(told: Parameters<TestDirectory['add']>[3], first = answer(200)) {
    const { world: opened, hook, types } = await world([]);
    hook.behave = first;
    const other = await HostileReceiver.start(answer(200));
    cleanups.push(() => other.close());
    opened.directory.add(merchantId(1), books, other.url, told);
    return { opened, hook, types, other, otherTypes: () => other.received.map((got) => bodyOf(got).type) };
  }

  it('receives what it subscribes to, under the same ids, each in a delivery of its own', async () => {
    const { opened, hook, other, types, otherTypes } = await two({
      types: new Set(['payment.expired', 'payment.late']),
    });
    await opened.process.start();
    const [outcome, , notice] = await opened.tell(id, created, expired, seen, final);
    await opened.cancelled(2);
    await until('all of it', () => types().length === 2 && otherTypes().length === 2);
    expect(otherTypes()).toEqual(['payment.expired', 'payment.late']);
    expect(types().toSorted()).toEqual(['payment.cancelled', 'payment.expired']);
    const [own] = hook.received.filter((got) => bodyOf(got).type === 'payment.expired');
    expect([other.received[0]!.raw.toString(), bodyOf(other.received[1]!).id]).toEqual([own!.raw.toString(), notice]);
    expect(other.received[0]!.headers['x-service-event-id']).toBe(outcome);
    await until('both recorded', async () => (await opened.history(deliveryIdOf(outcome!, books))).length === 3);
    expect((await opened.history(outcome!)).length).toBe(3);
  });

  it('receives the fields that it asks for, and the default one receives the same as ever', async () => {
    const { opened, hook, other, otherTypes, types } = await two({
      fields: ['received', 'due', 'excess', 'network', 'tx_hash', 'failure_reason'],
    });
    await opened.process.start();
    await opened.tell(id, created, expired);
    await until('both', () => types().length === 1 && otherTypes().length === 1);
    const [plain, detailed] = [bodyOf(hook.received[0]!), bodyOf(other.received[0]!)];
    expect(Object.keys(plain.data.object)).not.toContain('due');
    expect(detailed).toEqual({
      ...plain,
      data: {
        object: { ...plain.data.object, received: '0.00', due: '10.00', excess: '0.00', network: null, tx_hash: null },
      },
    });
  });

  it('is not delayed by a failing default one, survives a restart with the same bytes, and waits alone while it is down', async () => {
    const { opened, other, otherTypes, hook } = await two({}, answer(500));
    opened.directory.remove(further);
    await opened.process.start();
    await opened.cancelled(1);
    await until('the first failure', () => hook.received.length >= 1);
    expect(otherTypes()).toEqual([]);
    await opened.reopen();
    await opened.process.start();
    opened.directory.set(further, other.url, { endpointId: books });
    await until('what waited', () => otherTypes().length === 1);
    await opened.cancelled(2);
    await until('the next', () => otherTypes().length === 2);
    expect(new Set(other.received.map((got) => bodyOf(got).id)).size).toBe(2);
    expect(otherTypes()).toEqual(['payment.cancelled', 'payment.cancelled']);
  });
});
