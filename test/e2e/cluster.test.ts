import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../cluster/cluster.ts';
import { Load, type Merchant } from '../cluster/load.ts';
import { verify } from '../cluster/verify.ts';
import { eventually, signedCall } from '../support/running-sandbox.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

/* A short slice of `npm run test:chaos`: two API nodes, two workers and a signer on one store and one Redis. */

let cluster: Cluster;
let inbox: WebhookReceiver;
let merchant: Merchant;
let load: Load;

beforeAll(async () => {
  [cluster, inbox] = await Promise.all([Cluster.start({ networks: ['ethereum'] }), startWebhookReceiver()]);
  merchant = (await cluster.admin('merchant.create', { name: 'Shop', mode: 'test', webhookUrl: inbox.url })) as Merchant;
  load = new Load(cluster, merchant, { everyMs: 500 });
});
afterAll(async () => {
  await inbox.close();
  await cluster.close();
});

describe('two API nodes', () => {
  test('read at once what either was told, and list it a moment later', async () => {
    const [one, other] = [cluster.node('api-1').baseUrl, cluster.node('api-2').baseUrl];
    // The second node hears of a merchant from the ledger.
    await eventually('the key is known everywhere', async () => (await signedCall(other, merchant, 'GET', '/v1/payment/sessions')).status === 200);
    const body = { amount: '5.00', currency: 'USDT', order_id: 'two-nodes', metadata: { who: 'A. Payer' } };
    const created = await signedCall(one, merchant, 'POST', '/api/v1/checkout/sessions/create', body);
    expect(created.status).toBe(200);
    const read = await signedCall(other, merchant, 'GET', `/api/v1/checkout/sessions/${created.json['id'] as string}`);
    expect(read.json).toEqual(created.json);
    await eventually('the session is listed', async () => {
      const list = await signedCall(other, merchant, 'GET', '/v1/payment/sessions');
      return (list.json['data'] as { id: string }[]).some(({ id }) => id === created.json['id']);
    });
    const again = await signedCall(other, merchant, 'POST', '/api/v1/checkout/sessions/create', body);
    expect(again.json['id']).toBe(created.json['id']);
  });
});

test('payments and refunds come to their end although workers, signer and Redis die in the middle', async () => {
  const paidBefore = load.carryOut(load.place(), { pay: true, refund: true });
  await cluster.node('worker-1').kill('SIGKILL');
  const paidMeanwhile = load.carryOut(load.place(), { pay: true, refund: false });
  await cluster.redis.kill();
  await cluster.redis.restart();
  await cluster.node('signer').kill('SIGKILL');
  cluster.node('signer').begin();
  await Promise.all([paidBefore, paidMeanwhile]);
  const verdict = await verify(cluster, load, () => inbox.received);
  expect(verdict.violations).toEqual([]);
  expect(verdict).toMatchObject({ sessions: 2, payments: 2, refunds: 1 });
});

test('after FLUSHALL only what an idempotency key protects is done, and the look-ups come back by themselves', async () => {
  const paid = load.orders[1]!.sessionId!;
  const refund = (value: string, key: string) =>
    signedCall(
      cluster.baseUrl,
      merchant,
      'POST',
      '/v1/refunds',
      { session_id: paid, amount: { value, currency: 'USDT' } },
      { 'Idempotency-Key': key },
    );
  const first = await refund('1.00', 'first');
  expect(first.status).toBe(200);
  const redis = new Redis(cluster.redis.url);
  await redis.flushall();
  redis.disconnect();
  const create = (orderId: string, headers: Record<string, string> = {}) =>
    signedCall(
      cluster.baseUrl,
      merchant,
      'POST',
      '/api/v1/checkout/sessions/create',
      { amount: '6.00', currency: 'USDT', order_id: orderId },
      headers,
    );
  const refused = await create('unprotected');
  expect([refused.status, refused.json.error?.code]).toEqual([503, 'service_unavailable']);
  expect((await create('protected', { 'Idempotency-Key': 'protected' })).status).toBe(200);
  // The key is not signed: the same request under another one may be a replay, which the ledger remembers.
  expect((await refund('1.00', 'another')).status).toBe(503);
  expect((await refund('1.00', 'another')).status).toBe(503);
  expect((await refund('1.00', 'first')).json['id']).toBe(first.json['id']);
  expect((await refund('1.50', 'second')).status).toBe(200);
  await eventually('the look-ups are back', async () => {
    const list = await signedCall(cluster.baseUrl, merchant, 'GET', '/v1/payment/sessions');
    return (list.json['data'] as unknown[]).length === 4;
  });
});

test('a node that is told to end says so before it stops answering', async () => {
  const node = cluster.node('api-2');
  const ended = node.kill('SIGTERM');
  await eventually('it is not ready any more', async () => (await fetch(`${node.opsUrl}/readyz`)).status === 503);
  expect((await signedCall(node.baseUrl, merchant, 'GET', '/v1/payment/sessions')).status).toBe(200);
  await ended;
});
