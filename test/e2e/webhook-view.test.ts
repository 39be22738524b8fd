import { createSecretKey } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { deliveryIdOf } from '../../src/domain/notifications/delivery-ids.ts';
import type { NotificationId } from '../../src/domain/values/ids.ts';
import { NOTIFICATION_TYPES } from '../../src/domain/notifications/types.ts';
import { webhookRoutes, type WebhookApi } from '../../src/http/routes/webhooks.routes.ts';
import { presentDeliveryDetail } from '../../src/http/presenters/delivery.presenter.ts';
import { deliveryDetail } from '../../src/http/schemas/webhook.schema.ts';
import { webhookEvent } from '../../src/http/schemas/event-bodies.schema.ts';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import type { Caller } from '../../src/features/shared/merchant-api.ts';
import { Idempotency } from '../../src/features/shared/idempotency.ts';
import type { Listing } from '../../src/features/shared/list-page.ts';
import type { DeliverySummary } from '../../src/features/webhooks/views.ts';
import { MerchantWebhooks } from '../../src/features/webhooks/webhooks.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { webhookDeliveries } from '../../projections/webhooks/deliveries.projection.ts';
import { ScriptedSender } from '../support/scripted-sender.ts';
import { VirtualTimers } from '../support/virtual-timers.ts';
import { merchantId, sessionId, WebhookWorld } from '../support/webhook-world.ts';

/* What merchants see of their webhooks, over the embedded store and the real projection. */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const callerOf = (merchant: number, change: Partial<Caller> = {}): Caller => ({
  merchantId: merchantId(merchant),
  mode: 'test',
  requestId: 'req-1',
  ...change,
});
const mine = callerOf(1);
const other = callerOf(2);
const first = { page: 1, pageSize: 20 };

async function setting() {
  const timers = new VirtualTimers();
  const sender = new ScriptedSender(timers);
  const world = await WebhookWorld.open({ timers, sender });
  cleanups.push(() => world.dispose());
  for (const merchant of [1, 2]) world.directory.set(merchantId(merchant), `https://m${merchant}.example.org/`);
  const runner = new ProjectionRunner({
    store: world.store,
    readModel: world.readModel,
    projections: [webhookDeliveries],
    clock: timers,
  });
  await runner.start();
  cleanups.push(() => runner.stop());
  await world.process.start();
  const servedRows = async (): Promise<void> => {
    const head = await world.store.head();
    if (head !== null) await runner.caughtUpTo(head);
  };
  const { store, readModel, handler, directory, answers, ids } = world;
  const idempotency = new Idempotency({ store, clock: timers, random: nodeRandom });
  const webhooks = new MerchantWebhooks({
    store,
    readModel,
    handler,
    directory,
    answers,
    idempotency,
    clock: timers,
    notificationIds: ids,
    cursorKey: createSecretKey(Buffer.from('key')),
    servedRows,
  });
  const pass = (ms: number): Promise<void> =>
    timers.pass(ms, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
  return { world, timers, sender, webhooks, pass };
}

function valueOf<Value>(outcome: { ok: true; value: Value } | { ok: false; refusal: object }): Value {
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome.refusal)}`);
  return outcome.value;
}

describe('a further endpoint', () => {
  it('has deliveries of its own, which are listed, repeated and sampled by themselves; the feed has each event once', async () => {
    const { world, webhooks, sender, pass } = await setting();
    world.directory.add(merchantId(1), 'we_books', 'https://books.example.org/');
    const event = await world.cancelled(1);
    await pass(2_000);
    const { rows } = valueOf(await webhooks.list(mine, first));
    expect(
      rows.map(({ notificationId, endpointId, status }) => [notificationId, endpointId, status]).toSorted(),
    ).toEqual([
      [event, `we_${merchantId(1)}`, 'delivered'],
      [deliveryIdOf(event, 'we_books'), 'we_books', 'delivered'],
    ]);
    expect(valueOf(await webhooks.events(mine, { pageSize: 20 })).bodies).toHaveLength(1);
    expect(valueOf(await webhooks.events(mine, { pageSize: 20, types: ['payment.cancelled'] })).bodies).toHaveLength(1);

    expect(valueOf(await webhooks.redeliver(mine, deliveryIdOf(event, 'we_books')))).toMatchObject({
      endpointId: 'we_books',
    });
    await pass(2_000);
    const urls = (): string[] => sender.sent.map(({ url }) => new URL(url).host).toSorted();
    expect(urls()).toEqual(['books.example.org', 'books.example.org', 'm1.example.org']);

    expect(valueOf(await webhooks.sendSample(mine, 'payment.late', 'we_books'))).toMatchObject({
      sample: true,
      endpointId: 'we_books',
    });
    await pass(2_000);
    expect(urls()).toHaveLength(4);
    expect(urls().filter((host) => host === 'books.example.org')).toHaveLength(3);
    expect(await webhooks.sendSample(mine, 'payment.late', 'we_other')).toMatchObject({
      ok: false,
      refusal: { param: 'endpoint_id' },
    });
  });
});

describe('the list of deliveries', () => {
  it('shows the state of each, newest first, to its merchant only', async () => {
    const { world, sender, webhooks, pass } = await setting();
    sender.answer = (_, count) => ({ status: count === 2 ? 404 : 200 });
    const ids: NotificationId[] = [];
    for (let session = 1; session <= 3; session++) {
      ids.push(await world.cancelled(session));
      await pass(2_000);
    }
    const foreign = await world.cancelled(9, 2);
    await pass(2_000);
    const { rows, pagination } = valueOf(await webhooks.list(mine, first));
    expect(rows.map(({ notificationId, status }) => [notificationId, status])).toEqual([
      [ids[2], 'delivered'],
      [ids[1], 'rejected'],
      [ids[0], 'delivered'],
    ]);
    expect(rows[1]).toMatchObject({
      eventType: 'payment.cancelled',
      sessionId: sessionId(2),
      attempts: 1,
      lastStatus: 404,
      lastFailure: 'http_4xx',
      nextAttemptAtMs: null,
      sample: false,
    });
    expect(pagination).toMatchObject({ total: 3, has_more: false });
    expect(await webhooks.get(mine, foreign)).toBeNull();
    expect(await webhooks.get({ ...mine, mode: 'live' }, ids[0]!)).toBeNull();
    expect(await webhooks.redeliver(other, ids[0]!)).toMatchObject({ ok: false, refusal: { code: 'not_found' } });
  });

  it('filters by status, type, session and time, and walks by cursor without gaps', async () => {
    const { world, sender, webhooks, timers, pass } = await setting();
    sender.answer = (_, count) => ({ status: count % 2 === 0 ? 404 : 200 });
    const startSec = Math.floor(timers.nowMs() / 1000);
    for (let session = 1; session <= 10; session++) {
      await world.cancelled(session);
      await pass(10_000);
    }
    const rejected = valueOf(await webhooks.list(mine, { ...first, status: 'rejected' })).rows;
    expect(rejected).toHaveLength(5);
    expect(valueOf(await webhooks.list(mine, { ...first, eventType: 'payment.completed' })).rows).toHaveLength(0);
    expect(
      valueOf(await webhooks.list(mine, { ...first, eventType: 'payment.cancelled', status: 'delivered' })).rows,
    ).toHaveLength(5);
    expect(
      valueOf(await webhooks.list(mine, { ...first, sessionId: sessionId(4) })).rows.map((row) => row.sessionId),
    ).toEqual([sessionId(4)]);
    expect(
      valueOf(await webhooks.list(mine, { ...first, sessionId: sessionId(4), status: 'delivered' })).rows,
    ).toHaveLength(0);
    expect(
      valueOf(await webhooks.list(mine, { ...first, createdFromSec: startSec + 15, createdToSec: startSec + 45 })).rows,
    ).toHaveLength(3);
    const walked: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Listing<DeliverySummary> = valueOf(await webhooks.list(mine, { page: 1, pageSize: 3, cursor }));
      walked.push(...page.rows.map((row) => row.notificationId));
      cursor = page.pagination.next_cursor;
      if (walked.length === 3) await world.cancelled(99);
    }
    expect(new Set(walked).size).toBe(10);
    const stolen = valueOf(await webhooks.list(mine, { page: 1, pageSize: 3, cursor: '' })).pagination.next_cursor!;
    expect(await webhooks.list(other, { page: 1, pageSize: 3, cursor: stolen })).toMatchObject({
      ok: false,
      refusal: { param: 'cursor' },
    });
  });
});

describe('one delivery', () => {
  it('shows every attempt and its response, in the form of its schema', async () => {
    const { world, sender, webhooks, pass } = await setting();
    sender.answer = (_, count) => ({
      status: count === 1 ? 500 : 200,
      body: Buffer.from(count === 1 ? 'out of order' : '{"received":true}'),
      durationMs: 12,
    });
    const id = await world.cancelled(1);
    await pass(60_000);
    const view = (await webhooks.get(mine, id))!;
    expect(view.log.map(({ attempt, status, failure, trigger }) => [attempt, status, failure, trigger])).toEqual([
      [1, 500, 'http_5xx', 'automatic'],
      [2, 200, null, 'automatic'],
    ]);
    const shown = deliveryDetail.parse(presentDeliveryDetail(view));
    expect(shown.log.map((attempt) => attempt.answer)).toEqual(['out of order', '{"received":true}']);
    expect(shown.event).toMatchObject({ id, type: 'payment.cancelled' });
    expect(view.body).toBe(sender.sent[0]!.body);
  });

  it('W28, W7: makes responses inert, whatever bytes they contain', async () => {
    const { world, sender, webhooks, pass } = await setting();
    const hostile = Buffer.concat([
      Buffer.from('<script>alert(1)</script>\u001b[2J\u009b31m\u202eevil\u0000\r\n\ufeff'),
      Buffer.from([0xff, 0xc3, 0x28]),
    ]);
    sender.answer = () => ({ status: 200, body: hostile });
    const id = await world.cancelled(1);
    await pass(1_000);
    const json = JSON.stringify(presentDeliveryDetail((await webhooks.get(mine, id))!));
    // oxlint-disable-next-line no-control-regex -- none may be left
    expect(json).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    const { answer } = (JSON.parse(json) as { log: { answer: string }[] }).log[0]!;
    // oxlint-disable-next-line no-control-regex -- none may be left
    expect(answer).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(answer).toContain('<script>alert(1)</script>\\u001b[2J');
  });
});

describe('sending again', () => {
  it('sends the same bytes once more, and sets the state to delivered', async () => {
    const { world, sender, webhooks, pass } = await setting();
    const id = await world.cancelled(1);
    await pass(1_000);
    expect(valueOf(await webhooks.redeliver(mine, id))).toMatchObject({ status: 'pending', attempts: 1 });
    await pass(1_000);
    expect(sender.of(id).map((sent) => sent.body)).toEqual([sender.sent[0]!.body, sender.sent[0]!.body]);
    expect((await webhooks.get(mine, id))!).toMatchObject({ status: 'delivered', attempts: 2 });
  });

  it('once for one Idempotency-Key, however often it is asked for', async () => {
    const { world, sender, webhooks, timers, pass } = await setting();
    const startSec = Math.floor(timers.nowMs() / 1000);
    const id = await world.cancelled(1);
    await pass(1_000);
    const [again, range] = [callerOf(1, { idempotencyKey: 'again' }), callerOf(1, { idempotencyKey: 'range' })];
    for (let turn = 1; turn <= 3; turn++) {
      expect(valueOf(await webhooks.redeliver(again, id))).toMatchObject({ status: 'pending', attempts: 1 });
      await pass(1_000);
      expect(valueOf(await webhooks.replay(range, { fromSec: startSec, onlyUndelivered: false }))).toEqual({
        requested: 1,
      });
      await pass(1_000);
    }
    expect(sender.of(id)).toHaveLength(3);
    expect(await webhooks.replay(again, { fromSec: startSec, onlyUndelivered: false })).toMatchObject({
      refusal: { code: 'idempotency_conflict' },
    });
  });

  it('of a time range covers what was not delivered, in order, or everything on request', async () => {
    const { world, sender, webhooks, timers, pass } = await setting();
    sender.answer = (_, count) => ({ status: count % 3 === 0 ? 200 : 404 });
    const ids: NotificationId[] = [];
    const startSec = Math.floor(timers.nowMs() / 1000);
    for (let session = 1; session <= 12; session++) {
      ids.push(await world.cancelled(session));
      await pass(10_000);
    }
    sender.sent.length = 0;
    sender.answer = () => ({ status: 200 });
    const range = { fromSec: startSec + 15, toSec: startSec + 95 };
    expect(valueOf(await webhooks.replay(mine, { ...range, onlyUndelivered: true }))).toEqual({ requested: 5 });
    await pass(60_000);
    expect(sender.sent.map((sent) => sent.id)).toEqual([3, 4, 6, 7, 9].map((index) => ids[index]));
    sender.sent.length = 0;
    expect(valueOf(await webhooks.replay(mine, { ...range, onlyUndelivered: true }))).toEqual({ requested: 0 });
    expect(valueOf(await webhooks.replay(mine, { ...range, onlyUndelivered: false }))).toEqual({ requested: 8 });
    await pass(60_000);
    expect(sender.sent.map((sent) => sent.id)).toEqual(ids.slice(2, 10));
    expect(valueOf(await webhooks.replay(other, { ...range, onlyUndelivered: false }))).toEqual({ requested: 0 });
  });
});

describe('a sample', () => {
  it.each(NOTIFICATION_TYPES)(
    'of %s reaches the endpoint in the form of the real event, and stays out of the feed',
    async (type) => {
      const { sender, webhooks, pass } = await setting();
      const sent = valueOf(await webhooks.sendSample(mine, type));
      expect(sent).toMatchObject({ sample: true, status: 'pending', eventType: type });
      await pass(1_000);
      const body: unknown = JSON.parse(sender.sent[0]!.body);
      expect(webhookEvent.parse(body)).toMatchObject({ id: sent.notificationId, type });
      expect(valueOf(await webhooks.list(mine, first)).rows[0]).toMatchObject({ sample: true, status: 'delivered' });
      expect(valueOf(await webhooks.events(mine, { pageSize: 10 })).bodies).toEqual([]);
    },
  );

  it('is one sample when the request is repeated with its Idempotency-Key', async () => {
    const { sender, webhooks, pass } = await setting();
    const keyed = callerOf(1, { idempotencyKey: 'once' });
    const one = valueOf(await webhooks.sendSample(keyed, 'payment.completed'));
    const two = valueOf(await webhooks.sendSample(keyed, 'payment.completed'));
    expect(two.notificationId).toBe(one.notificationId);
    expect(await webhooks.sendSample(keyed, 'refund.failed')).toMatchObject({
      ok: false,
      refusal: { code: 'idempotency_conflict' },
    });
    await pass(1_000);
    expect(sender.sent).toHaveLength(1);
  });

  it('needs an endpoint', async () => {
    const { webhooks } = await setting();
    expect(await webhooks.sendSample(callerOf(3), 'payment.completed')).toMatchObject({
      ok: false,
      refusal: { code: 'invalid_request' },
    });
  });
});

describe('the feed of events', () => {
  it('holds what an endpoint that was down missed, oldest first, exactly as it would have been sent', async () => {
    const { world, sender, webhooks, pass } = await setting();
    sender.answer = () => ({ status: 500 });
    const ids: NotificationId[] = [];
    for (let session = 1; session <= 7; session++) ids.push(await world.cancelled(session));
    await world.cancelled(50, 2);
    await pass(7 * 86_400_000);
    const bodies: string[] = [];
    let cursor: string | undefined;
    for (let more = true; more;) {
      const page = valueOf(await webhooks.events(mine, { pageSize: 3, ...(cursor !== undefined && { cursor }) }));
      bodies.push(...page.bodies);
      ({ nextCursor: cursor, hasMore: more } = page);
    }
    expect(bodies.map((body) => (JSON.parse(body) as { id: string }).id)).toEqual(ids);
    for (const sent of sender.sent.filter((one) => one.merchantId === merchantId(1)))
      expect(bodies).toContain(sent.body);
    // The cursor goes on where the feed ended.
    expect(valueOf(await webhooks.events(mine, { pageSize: 3, cursor: cursor! })).bodies).toEqual([]);
    const later = await world.cancelled(8);
    await pass(1_000);
    const next = valueOf(await webhooks.events(mine, { pageSize: 3, cursor: cursor! }));
    expect(next.bodies.map((body) => (JSON.parse(body) as { id: string }).id)).toEqual([later]);
    expect(await webhooks.events(other, { pageSize: 3, cursor: cursor! })).toMatchObject({ ok: false });
    expect(valueOf(await webhooks.events(other, { pageSize: 3, cursor: '' })).bodies).toHaveLength(1);
  });
});

describe('the feed with filters', () => {
  it('contains the events of the requested types and times, without gaps to its end', async () => {
    const { world, webhooks, timers, pass } = await setting();
    const startSec = Math.floor(timers.nowMs() / 1000);
    const ids: NotificationId[] = [];
    for (let session = 1; session <= 6; session++) {
      ids.push(await world.cancelled(session));
      await pass(10_000);
    }
    const found = async (filters: object, pageSize = 2): Promise<string[]> => {
      const walked: string[] = [];
      for (let cursor = '', more = true; more;) {
        const page = valueOf(await webhooks.events(mine, { pageSize, cursor, ...filters }));
        walked.push(...page.bodies.map((body) => (JSON.parse(body) as { id: string }).id));
        ({ nextCursor: cursor, hasMore: more } = page);
      }
      return walked;
    };
    expect(await found({ types: ['payment.cancelled'] })).toEqual(ids);
    expect(await found({ types: ['payment.completed', 'refund.failed'] })).toEqual([]);
    expect(await found({ createdFromSec: startSec + 10, createdToSec: startSec + 30 })).toEqual(ids.slice(1, 4));
    expect(await found({ createdFromSec: startSec + 31 }, 1)).toEqual(ids.slice(4));
    expect(await webhooks.event(mine, ids[2]!)).toBe((await webhooks.get(mine, ids[2]!))!.body);
    expect(await webhooks.event(other, ids[2]!)).toBeNull();
    expect(await webhooks.event({ ...mine, mode: 'live' }, ids[2]!)).toBeNull();
    expect(await webhooks.event(mine, 'evt_1767225660123456999' as NotificationId)).toBeNull();
  });
});

describe('the use case', () => {
  it('matches what the routes expect', () => {
    const executor = (webhooks: MerchantWebhooks): WebhookApi => webhooks;
    expect(webhookRoutes(executor({} as MerchantWebhooks)).length).toBeGreaterThan(0);
  });
});
