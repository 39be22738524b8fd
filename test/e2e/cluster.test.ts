import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { exportEventLog, verifyFiles } from '../../src/cli/audit.ts';
import { SpilledMap } from '../../src/adapters/sqlite/read-model/spilled-map.ts';
import { parseVerifierKey } from '../../src/runtime/merkle/checkpoint-note.ts';
import { verifyProof } from '../../src/features/audit/verify-proof.ts';
import { Cluster } from '../cluster/cluster.ts';
import { Load, type Merchant } from '../cluster/load.ts';
import { verify } from '../cluster/verify.ts';
import { eventually, signedCall } from '../support/running-sandbox.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* A short slice of `npm run test:chaos`: two API nodes, two workers and a signer on one store and one Redis. */

const VERIFIER = resolve(import.meta.dirname, '../../docs/verify/verify.py');

let cluster: Cluster;
let inbox: WebhookReceiver;
let merchant: Merchant;
let load: Load;

beforeAll(async () => {
  [cluster, inbox] = await Promise.all([
    Cluster.start({ networks: ['ethereum'], env: { AUDIT_CHECKPOINT_SECONDS: '1' } }),
    startWebhookReceiver(),
  ]);
  merchant = (await cluster.admin('merchant.create', {
    name: 'Shop',
    mode: 'test',
    webhookUrl: inbox.url,
  })) as Merchant;
  load = new Load(cluster, merchant, { everyMs: 500 });
});
afterAll(async () => {
  await inbox.close();
  await cluster.close();
});

describe('two API nodes', () => {
  test("read each other's writes at once, and list them to the caller that wrote", async () => {
    const [one, other] = [cluster.node('api-1').baseUrl, cluster.node('api-2').baseUrl];
    // The second node hears of a merchant from the event log.
    await eventually(
      'the key is known everywhere',
      async () => (await signedCall(other, merchant, 'GET', '/v1/payment/sessions')).status === 200,
    );
    const body = { amount: '5.00', currency: 'USDT', order_id: 'two-nodes', metadata: { who: 'A. Payer' } };
    const created = await signedCall(one, merchant, 'POST', '/api/v1/checkout/sessions/create', body);
    expect(created.status).toBe(200);
    const read = await signedCall(other, merchant, 'GET', `/api/v1/checkout/sessions/${created.json['id'] as string}`);
    expect(read.json).toEqual(created.json);
    const told = { 'Quittance-Position': created.position! };
    const list = await signedCall(other, merchant, 'GET', '/v1/payment/sessions', undefined, told);
    expect([list.status, (list.json['data'] as { id: string }[]).map(({ id }) => id)]).toEqual([
      200,
      [created.json['id']],
    ]);
    const again = await signedCall(other, merchant, 'POST', '/api/v1/checkout/sessions/create', body);
    expect(again.json['id']).toBe(created.json['id']);
  });
});

test('payments and refunds complete although workers, signer and Redis die in between', async () => {
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

test('the event log is signed, each API node proves a payment in it, and its export verifies against an earlier checkpoint', async () => {
  const { sessionId } = load.orders[1]!;
  const proofs = await Promise.all((['api-1', 'api-2'] as const).map((name) => provenBy(name, sessionId!)));
  const [one, other] = proofs.map(({ events }) => events.map(({ leaf_index: leaf, text }) => [leaf, text]));
  expect(one).toEqual(other);
  const { verifier_key: key } = proofs[0]!;
  for (const proof of proofs)
    expect(verifyProof(proof, parseVerifierKey(key)!)).toMatchObject({ ok: true, session: sessionId });
  await exportVerifies(key, proofs[0]!.checkpoint.checkpoint);
});

test('after FLUSHALL only what an idempotency key protects is done, and no list is lost for a moment', async () => {
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
  for (const name of ['api-1', 'api-2'] as const) {
    const list = await signedCall(cluster.node(name).baseUrl, merchant, 'GET', '/v1/payment/sessions');
    expect([name, list.status, (list.json['data'] as unknown[]).length]).toEqual([name, 200, 3]);
  }
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
  // The key is not signed: the same request under another one may be a replay, which the event log remembers.
  expect((await refund('1.00', 'another')).status).toBe(503);
  expect((await refund('1.00', 'another')).status).toBe(503);
  expect((await refund('1.00', 'first')).json['id']).toBe(first.json['id']);
  expect((await refund('1.50', 'second')).status).toBe(200);
  const compared = (await cluster.admin('projection.compare', {}, 'api-2')) as {
    drifted: number;
    projections: { rows: number; examples: string[] }[];
  };
  expect([compared.drifted, compared.projections.flatMap(({ examples }) => examples)]).toEqual([0, []]);
  expect(compared.projections.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(20);
  const { checks } = (await (await fetch(`${cluster.node('api-2').opsUrl}/readyz`)).json()) as {
    checks: { name: string; state: string }[];
  };
  expect(checks).toContainEqual({ name: 'look-ups-agree', state: 'ok' });
  // Nothing about the audit was in Redis only.
  const before = (await provenBy('api-2', paid)).checkpoint;
  await cluster.node('signer').kill('SIGKILL');
  cluster.node('signer').begin();
  await eventually(
    'the event log is signed on',
    async () => (await provenBy('api-2', paid)).checkpoint.size > before.size,
    60_000,
  );
  const { verifier_key: key, checkpoint } = await provenBy('api-1', paid);
  await exportVerifies(key, checkpoint.checkpoint, before.checkpoint);
});

test('a node that receives a stop signal reports it before it stops responding', async () => {
  const node = cluster.node('api-2');
  const ended = node.kill('SIGTERM');
  await eventually('it is not ready any more', async () => (await fetch(`${node.opsUrl}/readyz`)).status === 503);
  expect((await signedCall(node.baseUrl, merchant, 'GET', '/v1/payment/sessions')).status).toBe(200);
  await ended;
});

interface Proof {
  readonly verifier_key: string;
  readonly checkpoint: { readonly size: number; readonly checkpoint: string };
  readonly events: readonly { readonly type: string; readonly leaf_index: number; readonly text: string }[];
  readonly pending_events: number;
}

/** The proof of a paid session as soon as all of it is under a signature. */
async function provenBy(name: 'api-1' | 'api-2', sessionId: string): Promise<Proof> {
  let proof: Proof | null = null;
  await eventually(
    `${name} proves the payment`,
    async () => {
      const { status, json } = await signedCall(
        cluster.node(name).baseUrl,
        merchant,
        'GET',
        `/v1/payment/sessions/${sessionId}/proof`,
      );
      if (status !== 200) return false;
      proof = json as unknown as Proof;
      return (
        proof.pending_events === 0 &&
        proof.events.some(({ type }) => type === 'SessionPaid') &&
        proof.verifier_key !== null
      );
    },
    30_000,
  );
  return proof!;
}

/** Offline: what the store holds, against checkpoints that were kept. */
async function exportVerifies(key: string, ...checkpoints: readonly string[]): Promise<void> {
  const store = await openEsdbEventStore({ connectionString: cluster.storeUrl, namespace: cluster.namespace });
  const folder = temporaryFolder('cluster-audit');
  try {
    const file = (name: string): string => join(folder, name);
    await exportEventLog(store, 0, file('ledger.jsonl'));
    checkpoints.forEach((note, index) => writeFileSync(file(`${index}.txt`), note));
    const kept = checkpoints.map((_, index) => file(`${index}.txt`));
    expect(
      await verifyFiles({ export: file('ledger.jsonl'), checkpoint: kept, key }, () => new SpilledMap()),
    ).toMatchObject({
      ok: true,
      fault: null,
    });
    const python = spawnSync('python3', [
      VERIFIER,
      '--export',
      file('ledger.jsonl'),
      '--checkpoint',
      ...kept,
      '--key',
      key,
    ]);
    if (!python.error) expect(python.stdout.toString()).toMatch(/^ok: /);
  } finally {
    await store.close();
  }
}
