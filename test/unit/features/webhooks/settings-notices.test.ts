import { createHmac, createSecretKey } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import type { MerchantId } from '../../../../src/domain/values/ids.ts';
import { webhookEvent } from '../../../../src/http/schemas/event-bodies.schema.ts';
import { presentDeliveryDetail } from '../../../../src/http/presenters/delivery.presenter.ts';
import { ApplyChanges } from '../../../../src/features/merchants/apply-changes.process.ts';
import type { MerchantDirectory } from '../../../../src/features/merchants/directory.ts';
import { MerchantEndpoints } from '../../../../src/features/merchants/endpoints.ts';
import type { Merchants } from '../../../../src/features/merchants/merchants.ts';
import { OwnChanges } from '../../../../src/features/merchants/own-changes.ts';
import { createMerchantHandler } from '../../../../src/features/shared/handlers/merchant-handler.ts';
import { Idempotency } from '../../../../src/features/shared/idempotency.ts';
import type { Caller } from '../../../../src/features/shared/merchant-api.ts';
import { MerchantWebhooks } from '../../../../src/features/webhooks/webhooks.ts';
import type { EndpointDirectory } from '../../../../src/ports/webhooks/endpoint-directory.ts';
import { decodeEvent } from '../../../../src/runtime/commands/codec.ts';
import { ProjectionRunner } from '../../../../src/runtime/projections/runner.ts';
import { webhookDeliveries } from '../../../../projections/webhooks/deliveries.projection.ts';
import { ScriptedSender } from '../../../support/scripted-sender.ts';
import { handlerDeps } from '../../../support/handler-deps.ts';
import { merchantsOf } from '../../../support/merchants.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';
import { WebhookWorld } from '../../../support/webhook-world.ts';
import { BY } from '../../../support/by-operator.ts';

/*
 * Changes of settings as the merchant hears of them, and as they wait: the real merchants, directory and deliveries
 * over the embedded store.
 */

const OLD = 'https://old.example/hook';
const NEW = 'https://new.example/hook';
const HOUR_MS = 3_600_000;

interface Side {
  readonly merchants: Merchants;
  readonly directory: MerchantDirectory;
  readonly changes: ApplyChanges;
  close(): Promise<void>;
}

/** What a process has of merchants; another one is what a restart makes. */
async function merchantSide(
  world: WebhookWorld,
  timers: VirtualTimers,
  minutes: number,
  isClockInDoubt: () => boolean,
): Promise<Side> {
  const deps = { ...handlerDeps(world.store, timers), notificationIds: world.ids };
  const { directory, merchants } = await merchantsOf(world.store, timers, undefined, {
    handler: createMerchantHandler(deps),
    changeDelayMinutes: minutes,
  });
  const onError = (error: unknown): never => {
    throw error;
  };
  const changes = new ApplyChanges({ directory, merchants, clock: timers, isClockInDoubt, onError }, 2 ** 31 - 1);
  return { merchants, directory, changes, close: () => changes.close().then(() => directory.close()) };
}

async function installation(minutes = 0) {
  const timers = new VirtualTimers();
  const sender = new ScriptedSender(timers);
  let side!: Side;
  let endpoints!: MerchantEndpoints;
  const directory: EndpointDirectory = {
    endpointOf: (queue) => endpoints.endpointOf(queue),
    subscriptionsOf: (id) => endpoints.subscriptionsOf(id),
    suspend: (...suspended) => endpoints.suspend(...suspended),
    onChange: (listener) => endpoints.onChange(listener),
  };
  const world = await WebhookWorld.open({ timers, sender, process: { directory } });
  onTestFinished(() => world.dispose());
  const doubt = { clock: false };
  const start = async (): Promise<void> => {
    side = await merchantSide(world, timers, minutes, () => doubt.clock);
    endpoints = new MerchantEndpoints(side.directory, createMerchantHandler(depsOf()));
  };
  const depsOf = () => ({
    ...handlerDeps(world.store, timers),
    ...{ notificationIds: world.ids, soleWriter: false },
  });
  await start();
  onTestFinished(() => side.close());
  const runner = new ProjectionRunner({
    store: world.store,
    readModel: world.readModel,
    projections: [webhookDeliveries],
    clock: timers,
  });
  await runner.start();
  onTestFinished(() => runner.stop());
  await world.process.start();
  const { store, readModel, handler, answers, ids } = world;
  const idempotency = new Idempotency({ store, clock: timers, random: nodeRandom });
  const webhooks = new MerchantWebhooks({
    ...{ store, readModel, handler, directory, answers, notificationIds: ids, clock: timers, idempotency },
    cursorKey: createSecretKey(Buffer.from('key')),
    servedRows: async () => void (await runner.caughtUpTo((await store.head())!)),
  });
  const made = valueOf(await side.merchants.registerMerchant({ name: 'Shop', mode: 'live', webhookUrl: OLD }, BY));
  const by = { actor: `merchant:${made.id}`, correlationId: 'req-1' };
  const caller: Caller = { merchantId: made.id, mode: 'live', requestId: 'req-1' };
  const pass = (ms = 2_000): Promise<void> =>
    timers.pass(ms, () => world.process.stats.working === 0 && world.process.stats.lag === 0);
  const restart = async (): Promise<void> => {
    await side.close();
    await start();
  };
  const own = () => new OwnChanges({ merchants: side.merchants, idempotency });
  const told = () => sender.sent.map(({ url, body }) => [url, typeOf(body)]);
  return { world, timers, sender, webhooks, made, by, caller, pass, restart, told, doubt, side: () => side, own };
}

const typeOf = (body: string): string => (JSON.parse(body) as { type: string }).type;
const objectOf = (body: string) => (JSON.parse(body) as { data: { object: Record<string, unknown> } }).data.object;
const urlOf = (side: Side, id: MerchantId) => side.merchants.getMerchant(id)!.webhook!.url;

function valueOf<Value>(outcome: { ok: true; value: Value } | { ok: false; refusal: object }): Value {
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome.refusal)}`);
  return outcome.value;
}

describe('a changed webhook URL', () => {
  it('is sent to the old URL with the old secret, in the feed once, and not to the new one', async () => {
    const { side, made, by, pass, sender, told, webhooks, caller } = await installation();
    valueOf(await side().merchants.setWebhook(made.id, { url: NEW }, by));
    await pass();
    expect(told()).toEqual([[OLD, 'settings.changed']]);
    const [{ body, headers }] = sender.sent as [(typeof sender.sent)[number]];
    expect(objectOf(body)).toMatchObject({
      setting: 'webhook_endpoint',
      status: 'changed',
      changed_by: 'merchant',
      change: { url: NEW },
    });
    const header = (name: string): string => headers[headers.indexOf(name) + 1]!;
    const text = `${header('X-Service-Timestamp')}.${header('X-Service-Nonce')}.${body}`;
    expect(header('X-Service-Signature')).toBe(createHmac('sha256', made.webhook_secret).update(text).digest('hex'));
    const { bodies } = valueOf(await webhooks.events(caller, { pageSize: 10, types: ['settings.changed'] }));
    expect(bodies).toEqual([body]);
    expect(webhookEvent.safeParse(JSON.parse(body)).success).toBe(true);
    const id = (JSON.parse(body) as { id: string }).id as Parameters<typeof webhooks.get>[1];
    expect(await webhooks.event(caller, id)).toBe(body);
    expect(presentDeliveryDetail((await webhooks.get(caller, id))!)).toMatchObject({
      session_id: null,
      status: 'delivered',
    });
    valueOf(await webhooks.redeliver(caller, id));
    await pass();
    expect(told()).toEqual([
      [OLD, 'settings.changed'],
      [OLD, 'settings.changed'],
    ]);
  });

  it('is announced at the old URL with its last secret, although the endpoint has moved, and after a restart', async () => {
    const { side, made, by, pass, sender, told, world, restart } = await installation();
    await world.process.stop();
    const { webhook_secret: secret } = valueOf(await side().merchants.issueWebhookSecret(made.id, by));
    valueOf(await side().merchants.activateWebhookSecret(made.id, by));
    valueOf(await side().merchants.setWebhook(made.id, { url: null }, by));
    valueOf(await side().merchants.setWebhook(made.id, { url: NEW }, by));
    await restart();
    await world.reopen();
    await world.process.start();
    await pass();
    expect(told()).toEqual([[OLD, 'settings.changed']]);
    const [{ headers, body }] = sender.sent as [(typeof sender.sent)[number]];
    const header = (name: string): string => headers[headers.indexOf(name) + 1]!;
    const text = `${header('X-Service-Timestamp')}.${header('X-Service-Nonce')}.${body}`;
    expect(header('X-Service-Signature')).toBe(createHmac('sha256', secret).update(text).digest('hex'));
  });

  it('of a further endpoint is announced there and at the default one, under one id', async () => {
    const { side, made, by, pass, sender, told } = await installation();
    const input = { url: OLD.replace('old', 'books'), events: ['payment.completed'] };
    const { endpoint } = valueOf(await side().merchants.addWebhook(made.id, input, by));
    await pass();
    valueOf(await side().merchants.setWebhook(made.id, { endpointId: endpoint.endpoint_id, disabled: true }, by));
    await pass();
    expect(told().toSorted()).toEqual([
      ['https://books.example/hook', 'settings.changed'],
      [OLD, 'settings.changed'],
      [OLD, 'settings.changed'],
    ]);
    expect(new Set(sender.sent.map(({ body }) => (JSON.parse(body) as { id: string }).id)).size).toBe(2);
  });
});

describe('a changed policy or settlement address', () => {
  it('is sent to the default endpoint, although nobody subscribed', async () => {
    const { side, made, pass, sender, told } = await installation();
    valueOf(await side().merchants.setPolicy(made.id, { tolerance: '0.5' }, { actor: 'ada', correlationId: 'c' }));
    const address = '0x6Fac4D18c912343BF86fa7049364Dd4E424Ab9C0';
    valueOf(
      await side().merchants.setSettlementAddress(made.id, { network: 'bsc', address, approvers: ['ben', 'eve'] }, BY),
    );
    await pass();
    expect(told()).toEqual([
      [OLD, 'settings.changed'],
      [OLD, 'settings.changed'],
    ]);
    expect(sender.sent.map(({ body }) => objectOf(body))).toMatchObject([
      { setting: 'policy', changed_by: 'operator', change: { tolerance: '0.5' } },
      { setting: 'settlement_address', change: { network: 'bsc', address } },
    ]);
    expect(sender.sent.map(({ body }) => body).join()).not.toMatch(/ada|ben|eve/);
  });
});

describe('a delayed change', () => {
  it('is announced before it takes effect, survives a restart, and takes effect by itself at its time', async () => {
    const { side, made, by, pass, told, timers, restart, world } = await installation(60);
    const asked = valueOf(await side().merchants.setWebhook(made.id, { url: NEW }, by));
    expect(asked).toMatchObject({ webhook: { url: OLD }, change_delay_minutes: 60 });
    expect(asked.pending_changes).toMatchObject([
      { setting: 'webhook_endpoint', change: { url: NEW }, requested_by: by.actor },
    ]);
    await pass();
    expect(told()).toEqual([[OLD, 'settings.change_scheduled']]);
    await restart();
    await pass(HOUR_MS - 5_000);
    await side().changes.now();
    expect(urlOf(side(), made.id)).toBe(OLD);
    await pass(10_000);
    await side().changes.now();
    expect(urlOf(side(), made.id)).toBe(NEW);
    expect(side().merchants.getMerchant(made.id)!.pending_changes).toEqual([]);
    await pass();
    expect(told()).toEqual([
      [OLD, 'settings.change_scheduled'],
      [OLD, 'settings.changed'],
    ]);
    const history = (await world.store.readStream(`merchant-${made.id}`)).map((event) => decodeEvent(event));
    expect(history.slice(-2).map(({ event, metadata }) => [event.type, metadata.actor])).toEqual([
      ['WebhookEndpointSet', by.actor],
      ['MerchantChangeApplied', by.actor],
    ]);
    expect(timers.nowMs()).toBeGreaterThan(0);
  });

  it('takes effect once with two processes, and not while the clock is in doubt', async () => {
    const { side, made, by, pass, world, timers, doubt } = await installation(60);
    const other = await merchantSide(world, timers, 60, () => false);
    onTestFinished(() => other.close());
    valueOf(await side().merchants.setPolicy(made.id, { tolerance: '0.5' }, by));
    await pass(HOUR_MS + 1_000);
    doubt.clock = true;
    await side().changes.now();
    expect(side().merchants.getMerchant(made.id)!.policy.tolerance).toBe('0');
    doubt.clock = false;
    await other.directory.catchUp();
    await Promise.all([side().changes.now(), other.changes.now()]);
    const types = (await world.store.readStream(`merchant-${made.id}`)).map(({ type }) => type);
    expect(types.filter((type) => type === 'PolicySet')).toHaveLength(1);
    expect(types.filter((type) => type === 'MerchantChangeApplied')).toHaveLength(1);
  });

  it('is withdrawn by the merchant and announced, once for each Idempotency-Key', async () => {
    const { side, made, by, pass, told, own, caller } = await installation(60);
    valueOf(await side().merchants.setWebhook(made.id, { url: NEW }, by));
    const [waiting] = own().list(caller);
    expect(own().list({ ...caller, merchantId: 'mer_other' as MerchantId })).toEqual([]);
    const keyed = { ...caller, idempotencyKey: 'k1' };
    expect(valueOf(await own().withdraw(keyed, waiting!.change_id))).toEqual([]);
    expect(valueOf(await own().withdraw(keyed, waiting!.change_id))).toEqual([]);
    expect(await own().withdraw(caller, waiting!.change_id)).toMatchObject({
      ok: false,
      refusal: { code: 'not_found' },
    });
    await pass(HOUR_MS + 1_000);
    await side().changes.now();
    expect(urlOf(side(), made.id)).toBe(OLD);
    expect(told()).toEqual([
      [OLD, 'settings.change_scheduled'],
      [OLD, 'settings.change_withdrawn'],
    ]);
  });
});
