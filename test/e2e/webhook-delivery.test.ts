import { afterEach, describe, expect, it } from 'vitest';
import type { NotificationId } from '../../src/domain/values/ids.ts';
import type { WebhookAnswer } from '../../src/ports/webhooks/sender.ts';
import {
  answer,
  bodyOf,
  HostileReceiver,
  inTurn,
  isSigned,
  reset,
  silent,
  write,
  type Behaviour,
} from '../support/hostile-receiver.ts';
import { startTestServer } from '../support/http-api.ts';
import { ScriptedSender } from '../support/scripted-sender.ts';
import { systemTimers } from '../../src/ports/timers.ts';
import { merchantId, until, WEBHOOK_SECRET, WebhookWorld, type WorldOptions } from '../support/webhook-world.ts';

/* The whole way: a session's event in the log, the process, real sockets, the outcome in the log. */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function open(options: WorldOptions): Promise<WebhookWorld> {
  const world = await WebhookWorld.open(options);
  cleanups.push(() => world.dispose());
  return world;
}

async function receiver(...args: Parameters<typeof HostileReceiver.start>): Promise<HostileReceiver> {
  const started = await HostileReceiver.start(...args);
  cleanups.push(() => started.close());
  return started;
}

/** A running process, and the endpoint of merchant 1 behaving as told. */
async function delivering(
  behave: Behaviour = answer(200),
  options: WorldOptions = {},
): Promise<{ world: WebhookWorld; hook: HostileReceiver }> {
  const hook = await receiver(behave);
  const world = await open(options);
  world.directory.set(merchantId(1), hook.url);
  await world.process.start();
  return { world, hook };
}

async function settled(world: WebhookWorld, id: NotificationId): Promise<string> {
  const ends = ['DeliverySucceeded', 'DeliveryExhausted', 'DeliveryRejected', 'DeliveryBlocked'];
  return until(
    'the outcome',
    async () => (await world.history(id)).map((event) => event.type).findLast((type) => ends.includes(type)),
    60_000,
  );
}

describe('a delivery', () => {
  it('reaches the endpoint with exactly the headers and the body of the specification', async () => {
    const { world, hook } = await delivering();
    const id = await world.cancelled(1);
    expect(await settled(world, id)).toBe('DeliverySucceeded');
    const [got] = hook.received;
    expect(got!.method).toBe('POST');
    expect(got!.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Service-Webhook/1.0',
      'x-service-event-type': 'payment.cancelled',
      'x-service-event-id': id,
    });
    expect(got!.headers['x-service-nonce']).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(Math.abs(Number(got!.headers['x-service-timestamp']) - got!.atMs / 1000)).toBeLessThan(5);
    expect(got!.headers['x-service-signature']).toMatch(/^[0-9a-f]{64}$/);
    expect(isSigned(got!, WEBHOOK_SECRET)).toBe(true);
    expect(
      Object.keys(got!.headers)
        .filter((name) => name.startsWith('x-'))
        .sort(),
    ).toEqual(['event-id', 'event-type', 'nonce', 'signature', 'timestamp'].map((name) => `x-service-${name}`));
    expect(got!.raw.toString()).toBe(
      `{"id":"${id}","type":"payment.cancelled","created_at":${bodyOf(got!).created_at},"data":{"object":{"amount":"0.00","status":"canceled","currency":"USDT",` +
        `"exchange_rate":"1","order_id":"order-1","session_id":"${String(bodyOf(got!).data.object['session_id'])}","source":"api"}}}`,
    );
  });

  it('uses the configured prefix', async () => {
    const { world, hook } = await delivering(answer(200), { process: { headerPrefix: 'X-Quittance-' } });
    await settled(world, await world.cancelled(1));
    expect(hook.received[0]!.rawHeaders.map(([name]) => name).filter((name) => name.startsWith('X-'))).toEqual([
      'X-Quittance-Signature',
      'X-Quittance-Timestamp',
      'X-Quittance-Nonce',
      'X-Quittance-Event-Type',
      'X-Quittance-Event-ID',
    ]);
  });

  it('records each attempt with time, target, duration and response', async () => {
    const { world } = await delivering(inTurn(answer(503, 'busy', { 'Retry-After': '0' }), answer(200)));
    const id = await world.cancelled(1);
    await settled(world, id);
    const attempts = (await world.history(id))
      .filter((event) => event.type === 'DeliveryAttempted')
      .map((event) => event.data);
    expect(attempts).toEqual([
      expect.objectContaining({
        attempt: 1,
        address: '127.0.0.1',
        status: 503,
        failure: 'http_5xx',
        trigger: 'automatic',
        merchantId: merchantId(1),
        endpointId: `we_${merchantId(1)}`,
      }),
      expect.objectContaining({
        attempt: 2,
        address: '127.0.0.1',
        status: 200,
        failure: null,
        nextAttemptAtMs: null,
        detail: null,
        answerIncomplete: false,
      }),
    ]);
    expect(attempts[0]!.nextAttemptAtMs! - attempts[0]!.startedAtMs - attempts[0]!.durationMs).toBeGreaterThanOrEqual(
      1_000,
    );
    const answers = await world.answers.of(id);
    expect([...answers].map(([attempt, body]) => [attempt, Buffer.from(body).toString()])).toEqual([
      [1, 'busy'],
      [2, '{"received":true}'],
    ]);
    // Of the answer itself only the hash is in the log.
    expect(JSON.stringify(attempts)).not.toContain('busy');
    expect(attempts[0]!.answerHash).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each<[string, Behaviour]>([
    ['W10: a reset', reset],
    [
      'W10: a reset after the status line',
      (_, socket) => void socket.write('HTTP/1.1 200 OK\r\nCont', () => setTimeout(() => socket.resetAndDestroy(), 10)),
    ],
    ['W9: an answer that is not HTTP', write('nonsense\r\n\r\n')],
    ['W11: 500', answer(500)],
    ['W11: 429', answer(429)],
  ])('is retried with the same id and bytes after %s', async (_, first) => {
    const { world, hook } = await delivering(inTurn(first, answer(200)));
    expect(await settled(world, await world.cancelled(1))).toBe('DeliverySucceeded');
    expect(hook.received).toHaveLength(2);
    expect(hook.received[0]!.raw.equals(hook.received[1]!.raw)).toBe(true);
    expect(hook.received[0]!.headers['x-service-nonce']).not.toBe(hook.received[1]!.headers['x-service-nonce']);
    expect(hook.received.every((got) => isSigned(got, WEBHOOK_SECRET))).toBe(true);
  });

  it.each<[string, Behaviour]>([
    ['{"received":false}', answer(200, '{"received":false}')],
    ['HTML', answer(200, '<html>')],
    ['nothing', answer(200, '')],
    ['204', write('HTTP/1.1 204 No Content\r\n\r\n')],
  ])('W21: is over with a 2xx that says %s: the status decides', async (_, behave) => {
    const { world, hook } = await delivering(behave);
    expect(await settled(world, await world.cancelled(1))).toBe('DeliverySucceeded');
    expect(hook.received).toHaveLength(1);
  });

  it('W3: with an endless response body ends and is marked so', async () => {
    const { world, hook } = await delivering(write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'), {
      http: { timeoutMs: 500 },
    });
    const id = await world.cancelled(1);
    expect(await settled(world, id)).toBe('DeliverySucceeded');
    expect((await world.history(id)).find((event) => event.type === 'DeliveryAttempted')?.data).toMatchObject({
      status: 200,
      failure: null,
      answerIncomplete: true,
    });
    expect(hook.received).toHaveLength(1);
  });

  it('W20: that took too long is retried, and the receiver sees the same id twice', async () => {
    const late: Behaviour = (request, socket) =>
      setTimeout(() => socket.writable && answer(200)(request, socket, 1), 1_500);
    const { world, hook } = await delivering(inTurn(late, answer(200)), { http: { timeoutMs: 700 } });
    const id = await world.cancelled(1);
    expect(await settled(world, id)).toBe('DeliverySucceeded');
    expect(hook.received.map((got) => got.headers['x-service-event-id'])).toEqual([id, id]);
  });

  it('W8: is rejected by a redirect, wherever it leads', async () => {
    const { world, hook } = await delivering();
    hook.behave = answer(302, '', { Location: hook.url });
    const id = await world.cancelled(1);
    expect(await settled(world, id)).toBe('DeliveryRejected');
    expect(hook.received).toHaveLength(1);
  });

  it('W15: to a name that became private is blocked with an alarm, and nothing is retried', async () => {
    const hook = await receiver();
    const world = await open({
      http: { allowInsecure: false, ports: [hook.port], resolve: async () => ['127.0.0.1'] },
    });
    world.directory.set(merchantId(1), `https://rebind.attacker.net:${hook.port}/`);
    await world.process.start();
    const id = await world.cancelled(1);
    expect(await settled(world, id)).toBe('DeliveryBlocked');
    expect(hook.connections).toBe(0);
    expect(world.alarms).toContainEqual(expect.objectContaining({ kind: 'blocked', notificationId: id }));
    expect((await world.history(id)).filter((event) => event.type === 'DeliveryAttempted')).toHaveLength(1);
  });

  it('W13: to an endpoint without a valid certificate is retried, and no byte of it is sent', async () => {
    const world = await open({ http: { timeoutMs: 2_000 } });
    const plain = await receiver();
    plain.onConnection = (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    world.directory.set(merchantId(1), `https://127.0.0.1:${plain.port}/`);
    await world.process.start();
    const id = await world.cancelled(1);
    await until(
      'two attempts',
      async () => (await world.history(id)).filter((event) => event.type === 'DeliveryAttempted').length === 2,
    );
    expect((await world.history(id)).find((event) => event.type === 'DeliveryAttempted')?.data).toMatchObject({
      failure: 'tls',
    });
    expect(plain.received).toHaveLength(0);
  });

  it("W27: sent back to us as an API call is refused, even with the merchant's own API key", async () => {
    const { world, hook } = await delivering();
    const api = await startTestServer();
    cleanups.push(() => api.close());
    await settled(world, await world.cancelled(1));
    const [got] = hook.received;
    const {
      'x-service-timestamp': timestamp,
      'x-service-nonce': nonce,
      'x-service-signature': signature,
    } = got!.headers;
    const replayed = await api.call('POST', '/api/v1/checkout/sessions/create', got!.raw, {
      timestamp: timestamp!,
      nonce: nonce!,
      signature: signature!,
    });
    expect(replayed.status).toBe(401);
    // The same bytes signed with the API secret pass authentication: only the key was wrong.
    expect((await api.call('POST', '/api/v1/checkout/sessions/create', got!.raw)).status).toBe(400);
  });
});

describe('isolation', () => {
  it('W1: an endpoint that hangs never has more than five attempts in flight', async () => {
    const { world, hook } = await delivering(silent, { http: { timeoutMs: 60_000 }, process: { stopGraceMs: 100 } });
    for (let session = 1; session <= 20; session++) await world.cancelled(session);
    await until('the attempts', () => hook.received.length >= 5);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(hook.received).toHaveLength(5);
    expect(world.process.stats.inFlight).toBe(5);
  });

  it('W23: 10,000 events for a hanging endpoint delay none of 99 others, and memory stays bounded', async () => {
    let hung = 0;
    const sender = new ScriptedSender(systemTimers, (sent) => {
      if (sent.merchantId !== merchantId(0)) return { status: 200 };
      hung += 1;
      return new Promise<Partial<WebhookAnswer>>(() => undefined);
    });
    const world = await open({ sender, process: { stopGraceMs: 100, limits: { inFlight: 64 } } });
    for (let merchant = 0; merchant < 100; merchant++)
      world.directory.set(merchantId(merchant), `https://m${merchant}.example.org/`);
    await world.process.start();
    const write = async (from: number, count: number, merchantOf: (session: number) => number): Promise<void> => {
      for (let session = from; session < from + count; session += 200) {
        await Promise.all(
          Array.from({ length: Math.min(200, from + count - session) }, (_, index) =>
            world.cancelled(session + index, merchantOf(session + index)),
          ),
        );
      }
    };
    await write(0, 10_000, () => 0);
    await write(20_000, 990, (session) => 1 + (session % 99));
    await until('the healthy ones', () => sender.sent.length - hung === 990, 60_000);
    expect(hung).toBe(5);
    // What was sent leaves memory once its outcome is recorded; what hangs never fills it.
    await until('the outcomes of the healthy ones', () => world.process.stats.inMemory <= 1_100, 60_000);
    expect(world.process.stats.overflowing).toBe(1);
  });

  it('lets endpoints take turns: a long queue does not delay a short one', async () => {
    const sender = new ScriptedSender(systemTimers);
    const world = await open({ sender, process: { limits: { inFlight: 1, inFlightPerMerchant: 1 } } });
    for (const merchant of [1, 2, 3])
      world.directory.set(merchantId(merchant), `https://m${merchant}.example.org/`, { suspended: true });
    await world.process.start();
    for (let session = 0; session < 30; session++) await world.cancelled(session, 1);
    for (let session = 30; session < 33; session++) await world.cancelled(session, 2);
    await world.cancelled(33, 3);
    await until('the queue', () => world.process.stats.inMemory === 34);
    for (const merchant of [1, 2, 3])
      world.directory.set(merchantId(merchant), `https://m${merchant}.example.org/`, { suspended: true });
    expect(sender.sent).toHaveLength(0);
    // Resumed in one go: without turns merchant 3 would come last.
    for (const merchant of [1, 2, 3])
      world.directory.endpoints.set(merchantId(merchant), {
        ...world.directory.endpointOf(merchantId(merchant))!,
        suspended: false,
      });
    for (const merchant of [1, 2, 3]) world.directory.change(merchantId(merchant), {});
    await until('all', () => sender.sent.length === 34, 60_000);
    const order = sender.sent.map((sent) => sent.merchantId);
    expect(order.indexOf(merchantId(3))).toBeLessThan(6);
    expect(order.lastIndexOf(merchantId(2))).toBeLessThan(20);
  });
});

describe('stopping', () => {
  it('waits for attempts under way, so that a deploy repeats nothing', async () => {
    const { world, hook } = await delivering((request, socket) =>
      setTimeout(() => answer(200)(request, socket, 1), 400),
    );
    const id = await world.cancelled(1);
    await until('the request', () => hook.received.length === 1);
    await world.reopen();
    expect((await world.history(id)).at(-1)?.type).toBe('DeliverySucceeded');
    await world.process.start();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(hook.received).toHaveLength(1);
  });
});
