import { afterEach, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { OptionalType } from '../../src/domain/optional-notifications.ts';
import { answer, bodyOf, HostileReceiver } from '../support/hostile-receiver.ts';
import { createdFacts, depositFacts, EXPIRES_AT } from '../support/session-facts.ts';
import { merchantId, sessionId, until, WebhookWorld } from '../support/webhook-world.ts';

/* What a merchant asked to be told beside outcomes, over real sockets. */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function world(optional: readonly OptionalType[]): Promise<{ world: WebhookWorld; hook: HostileReceiver; types: () => string[] }> {
  const hook = await HostileReceiver.start(answer(200));
  cleanups.push(() => hook.close());
  const opened = await WebhookWorld.open();
  cleanups.push(() => opened.dispose());
  opened.directory.set(merchantId(1), hook.url);
  opened.directory.optional.set(merchantId(1), new Set(optional));
  return { world: opened, hook, types: () => hook.received.map((got) => bodyOf(got).type) };
}

const id = sessionId(1);
const created: SessionEvent = { type: 'SessionCreated', data: createdFacts({ sessionId: id, merchantId: merchantId(1) }) };
const expired: SessionEvent = { type: 'SessionExpired', data: { expiredAtSec: EXPIRES_AT + 1, coin: 'USDT', received: '0.00', scannedToSec: {} } };
const facts = depositFacts({ blockTimeSec: EXPIRES_AT + 5 });
const seen: SessionEvent = { type: 'DepositDetected', data: { ...facts, kind: 'late' } };
const final: SessionEvent = {
  type: 'DepositConfirmed',
  data: {
    ...{ depositKey: facts.depositKey, rule: { kind: 'finalized' }, blockNumber: facts.blockNumber },
    ...{ blockHash: facts.blockHash, blockTimeSec: facts.blockTimeSec, headNumber: 300 },
  },
};

describe('an endpoint', () => {
  it('is told outcomes alone unless it asks for more', async () => {
    const { world: opened, types } = await world([]);
    await opened.process.start();
    await opened.tell(id, created, expired, seen, final);
    await opened.cancelled(2);
    await until('both outcomes', () => types().length >= 2);
    expect(types().toSorted()).toEqual(['payment.cancelled', 'payment.expired']);
    expect(opened.alarms).toEqual([]);
  });

  it('is told late money in its turn, under the id that was given when it was decided', async () => {
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

  it('is told once, with the same bytes, although the process was away in between', async () => {
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
