import { afterEach, expect, test } from 'vitest';
import { webhookWork } from '../../../../projections/webhooks/work.projection.ts';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import {
  DeliverWebhooks,
  type DeliverWebhooksOptions,
  type DeliveryAlarm,
} from '../../../../src/features/webhooks/deliver.process.ts';
import type { TakeOver } from '../../../../src/features/webhooks/take-over.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import { ProjectionRunner } from '../../../../src/runtime/projections/runner.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';
import { ScriptedSender } from '../../../support/scripted-sender.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';
import { merchantId, sessionId, until, WebhookWorld } from '../../../support/webhook-world.ts';

/* Deliveries go from one process to another, which has its own look-ups and knows how far the first one was. */

let world: WebhookWorld;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await world.dispose();
});

const isQuiet = (process: DeliverWebhooks) => (): boolean => {
  const { working, lag, unsettled } = process.stats;
  return working === 0 && lag === 0 && unsettled === 0;
};

async function opened() {
  const timers = new VirtualTimers();
  const sender = new ScriptedSender(timers);
  const told: string[] = [];
  const takeOver: TakeOver = {
    handled: async () => told.at(-1) ?? null,
    tell: (position) => void told.push(position),
    caughtUpTo: async (position) => runner.caughtUpTo(position),
  };
  world = await WebhookWorld.open({ timers, sender, process: { takeOver } });
  world.directory.set(merchantId(1), 'https://shop.example/hooks', { durableRedelivery: true });
  world.directory.set(merchantId(2), 'https://other.example/hooks', { suspended: true });
  const readModel = new MemoryReadModel();
  const runner = new ProjectionRunner({ store: world.store, readModel, projections: [webhookWork], clock: timers });
  await runner.start();
  closing.push(() => runner.stop());
  const next = (change: Partial<TakeOver> = {}, options: Partial<DeliverWebhooksOptions> = {}): DeliverWebhooks =>
    new DeliverWebhooks({
      store: world.store,
      readModel,
      handler: world.handler,
      directory: world.directory,
      sender,
      answers: world.answers,
      timers,
      random: nodeRandom,
      log: silentLog,
      headerPrefix: 'X-Service-',
      takeOver: { ...takeOver, ...change },
      ...options,
    });
  return { timers, sender, told, readModel, next };
}

test('the new owner attempts what is due, on time, and nothing that is settled', async () => {
  const { timers, sender, told, next } = await opened();
  await world.process.start();
  const quiet = isQuiet(world.process);
  const delivered = await world.cancelled(1);
  await timers.pass(2_000, quiet);
  sender.answer = () => ({ status: 503 });
  const failing = await world.cancelled(2);
  await timers.pass(120_000, quiet);
  const waiting = await world.cancelled(3, 2);
  await timers.pass(2_000, quiet);
  expect(told.length).toBeGreaterThan(0);
  // Killed: nothing more is written, and the last of it was not told.
  await world.process.stop();
  const attempts = sender.of(failing).length;
  const unseen = await world.cancelled(4);
  sender.answer = () => ({ status: 200 });

  const process = next();
  await process.start();
  closing.push(() => process.stop());
  await timers.pass(2_000, isQuiet(process));
  await until('what was scheduled by nobody is told', () => sender.of(unseen).length === 1);
  expect([sender.of(delivered).length, sender.of(failing).length, sender.of(waiting).length]).toEqual([1, attempts, 0]);
  await timers.pass(600_000, isQuiet(process));
  expect(sender.of(failing)).toHaveLength(attempts + 1);
  world.directory.change(merchantId(2), { suspended: false });
  await timers.pass(10_000, isQuiet(process));
  expect([delivered, failing, waiting, unseen].map((id) => sender.of(id).length)).toEqual([1, attempts + 1, 1, 1]);
});

test('a new holder keeps counting the failures of an endpoint', async () => {
  const { timers, sender, next } = await opened();
  sender.answer = () => ({ status: 410 });
  await world.process.start();
  await world.cancelled(1);
  await world.cancelled(2);
  await timers.pass(2_000, isQuiet(world.process));
  await world.process.stop();
  expect(world.directory.endpointOf(merchantId(1))!.suspended).toBe(false);
  const process = next();
  await process.start();
  closing.push(() => process.stop());
  await world.cancelled(3);
  await timers.pass(2_000, isQuiet(process));
  expect(world.directory.endpointOf(merchantId(1))!.suspended).toBe(true);
});

test('the new owner reads a skipped event again, however far the others came', async () => {
  const { timers, told, next } = await opened();
  await world.process.start();
  const quiet = isQuiet(world.process);
  await world.cancelled(1);
  await timers.pass(2_000, quiet);
  const before = told.at(-1);
  expect(before).toBeDefined();
  await world.tell(sessionId(2), {
    type: 'SessionCancelled',
    data: { cancelledAtSec: 1, coin: 'USDT', received: '0.00', inFlight: false },
  });
  await world.cancelled(3);
  await timers.pass(5_000, quiet);
  expect([world.alarms.length, told.at(-1)]).toEqual([1, before]);
  await world.process.stop();
  const alarms: DeliveryAlarm[] = [];
  const process = next({}, { observer: { onAlarm: (alarm) => alarms.push(alarm) } });
  await process.start();
  closing.push(() => process.stop());
  await timers.pass(2_000, isQuiet(process));
  expect(alarms).toEqual(world.alarms);
});

test('no process takes over with look-ups that are behind', async () => {
  const { next } = await opened();
  const process = next({ handled: async () => '1', caughtUpTo: async () => false });
  await expect(process.start()).rejects.toThrow('behind the deliveries');
  await process.stop();
});

test('if nobody knows how far the others were, the whole log is read, and nothing is attempted twice', async () => {
  const { timers, sender, next } = await opened();
  await world.process.start();
  const delivered = await world.cancelled(1);
  await timers.pass(2_000, isQuiet(world.process));
  await world.process.stop();
  const process = next({ handled: async () => null });
  await process.start();
  closing.push(() => process.stop());
  const later = await world.cancelled(2);
  await timers.pass(2_000, isQuiet(process));
  expect([sender.of(delivered).length, sender.of(later).length]).toEqual([1, 1]);
});
