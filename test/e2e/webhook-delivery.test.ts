import { afterEach, describe, expect, it } from 'vitest';
import { answer, bodyOf, HostileReceiver, inTurn, isSigned } from '../support/hostile-receiver.ts';
import { merchantId, until, WEBHOOK_SECRET, WebhookWorld, type WorldOptions } from '../support/webhook-world.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function world(options: WorldOptions = {}): Promise<WebhookWorld> {
  const opened = await WebhookWorld.open(options);
  cleanups.push(() => opened.dispose());
  return opened;
}

async function receiver(...args: Parameters<typeof HostileReceiver.start>): Promise<HostileReceiver> {
  const started = await HostileReceiver.start(...args);
  cleanups.push(() => started.close());
  return started;
}

describe('a delivery', () => {
  it('reaches the endpoint signed, with the headers and the body of the specification', async () => {
    const hook = await receiver();
    const it = await world();
    it.directory.set(merchantId(1), hook.url);
    await it.process.start();
    const id = await it.cancelled(1);
    const got = await until('the delivery', () => hook.received[0]);
    expect(got.method).toBe('POST');
    expect(isSigned(got, WEBHOOK_SECRET)).toBe(true);
    expect(bodyOf(got)).toMatchObject({
      id,
      type: 'payment.cancelled',
      data: { object: { status: 'canceled', amount: '10.00', currency: 'USDT', exchange_rate: '1', order_id: 'order-1', source: 'api' } },
    });
    await until('the outcome', async () => (await it.history(id)).at(-1)?.type === 'DeliverySucceeded');
  });

  it('is retried after a failure with the same id and bytes and a fresh signature', async () => {
    const hook = await receiver(inTurn(answer(500), answer(503), answer(200)));
    const it = await world();
    it.directory.set(merchantId(1), hook.url);
    await it.process.start();
    const id = await it.cancelled(1);
    await until('the outcome', async () => (await it.history(id)).at(-1)?.type === 'DeliverySucceeded');
    expect(hook.received).toHaveLength(3);
    expect(new Set(hook.received.map((got) => got.raw.toString())).size).toBe(1);
    expect(new Set(hook.received.map((got) => got.headers['x-service-nonce'])).size).toBe(3);
    expect(hook.received.every((got) => isSigned(got, WEBHOOK_SECRET))).toBe(true);
  });
});
