import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { NotificationId } from '../../src/domain/values/ids.ts';
import { answer, bodyOf, HostileReceiver, isSigned } from '../support/hostile-receiver.ts';
import type { CrashPoint } from '../support/webhook-child.ts';
import { until, WEBHOOK_SECRET, WebhookWorld } from '../support/webhook-world.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* kill -9 at every point that matters: each event is delivered at least once, with one id and one set of bytes. */

const CHILD = join(import.meta.dirname, '..', 'support', 'webhook-child.ts');
const EVENTS = 40;

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function directory(): string {
  const path = temporaryFolder('webhook-crash');
  return path;
}

async function receiver(): Promise<HostileReceiver> {
  const started = await HostileReceiver.start(answer(200));
  cleanups.push(() => started.close());
  return started;
}

/** Writes sessions without any delivery process at work. */
async function written(dataDir: string, from: number, count: number): Promise<NotificationId[]> {
  const world = await WebhookWorld.open({ dataDir });
  const ids: NotificationId[] = [];
  for (let session = from; session < from + count; session++) ids.push(await world.cancelled(session));
  await world.close();
  return ids;
}

/** `live`: sessions that the process writes itself while it delivers, the first and how many. */
function run(
  dataDir: string,
  url: string,
  crash: CrashPoint,
  count = 1,
  live: readonly [number, number] = [0, 0],
): ChildProcess {
  const child = spawn(process.execPath, [CHILD, dataDir, url, crash, String(count), ...live.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanups.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return child;
}

async function died(child: ChildProcess): Promise<void> {
  if (child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
}

/** Once it is up, that is: all may have been told before, and a signal before that ends it as it stands. */
async function ended(child: ChildProcess): Promise<void> {
  await once(child.stdout!, 'data');
  child.kill('SIGTERM');
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).toBe(0);
}

/** Every event arrived, each with one id and one set of bytes, and the log knows it. */
async function expectAllTold(
  dataDir: string,
  hook: HostileReceiver,
  ids: readonly NotificationId[],
): Promise<Map<string, number>> {
  const bytes = new Map<string, Set<string>>();
  const times = new Map<string, number>();
  for (const got of hook.received) {
    const { id } = bodyOf(got);
    expect(got.headers['x-service-event-id']).toBe(id);
    expect(isSigned(got, WEBHOOK_SECRET)).toBe(true);
    bytes.set(id, (bytes.get(id) ?? new Set()).add(got.raw.toString('hex')));
    times.set(id, (times.get(id) ?? 0) + 1);
  }
  expect(new Set(times.keys())).toEqual(new Set(ids));
  for (const variants of bytes.values()) expect(variants.size).toBe(1);
  const world = await WebhookWorld.open({ dataDir });
  for (const id of ids) {
    const history = await world.history(id);
    expect(history.map((event) => event.type).slice(-2)).toEqual(['DeliveryAttempted', 'DeliverySucceeded']);
    expect(history.filter((event) => event.type === 'DeliveryScheduled')).toHaveLength(1);
  }
  await world.close();
  return times;
}

const seen = (hook: HostileReceiver): number =>
  new Set(hook.received.map((got) => got.headers['x-service-event-id'])).size;

/** The ids of all notifications in the log, whoever wrote them. */
async function inTheLog(dataDir: string): Promise<NotificationId[]> {
  const world = await WebhookWorld.open({ dataDir });
  const events = await world.store.readAll({ after: null, limit: 10_000, streamPrefixes: ['session-'] });
  await world.close();
  return events.flatMap(
    (event) => (JSON.parse(event.metadata) as { notificationId?: NotificationId }).notificationId ?? [],
  );
}

describe('after kill -9', () => {
  it.each<[string, CrashPoint, number]>([
    ['between an event and its schedule', 'before-schedule', 1],
    ['in the middle of scheduling many events', 'before-schedule', 17],
    ['between a schedule and the first attempt', 'after-schedule', 3],
    ['before anything was sent', 'before-send', 1],
    ['between the first attempt and its record', 'before-record', 1],
    ['between a later attempt and its record', 'before-record', 20],
    ['between a record and the checkpoint', 'after-record', 1],
    ['between many records and the checkpoint', 'after-record', 25],
    ['in the middle of a drain', 'during-drain', 12],
  ])('%s, nothing is lost', async (_, crash, count) => {
    const dataDir = directory();
    const hook = await receiver();
    const ids = await written(dataDir, 1, EVENTS);
    await died(run(dataDir, hook.url, crash, count));
    const beforeRestart = hook.received.length;
    const second = run(dataDir, hook.url, 'never');
    await until('every event', () => seen(hook) === EVENTS, 60_000);
    await until('quiet', async () => {
      const before = hook.received.length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return hook.received.length === before;
    });
    await ended(second);
    const times = await expectAllTold(dataDir, hook, ids);
    // Only attempts that were under way or not yet recorded when it died may repeat: at most the ten that the child
    // allows.
    expect([...times.values()].filter((arrivals) => arrivals > 1).length).toBeLessThanOrEqual(10);
    expect(hook.received.length).toBeLessThanOrEqual(EVENTS + 10);
    expect(beforeRestart).toBeLessThanOrEqual(hook.received.length);
  });

  it.each<[string, CrashPoint, number]>([
    ['before the first append of a delivery', 'before-schedule', 1],
    ['between an answer and its record', 'before-record', 7],
    ['between a record and the checkpoint', 'after-record', 7],
    ['before anything was sent', 'before-send', 9],
  ])('%s, while the events are new, nothing is lost', async (_, crash, count) => {
    const dataDir = directory();
    const hook = await receiver();
    await died(run(dataDir, hook.url, crash, count, [1, EVENTS]));
    const ids = await inTheLog(dataDir);
    expect(ids.length).toBeGreaterThan(0);
    const second = run(dataDir, hook.url, 'never');
    await until('every event', () => seen(hook) === ids.length, 60_000);
    await until('quiet', async () => {
      const before = hook.received.length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return hook.received.length === before;
    });
    await ended(second);
    await expectAllTold(dataDir, hook, ids);
    expect(hook.received.length).toBeLessThanOrEqual(ids.length + 10);
  });

  it('again and again while new events come, also during recovery, nothing is lost', async () => {
    const dataDir = directory();
    const hook = await receiver();
    const ids: NotificationId[] = [];
    for (let round = 0; round < 6; round++) {
      ids.push(...(await written(dataDir, 1 + round * 15, 15)));
      const child = run(dataDir, hook.url, 'never');
      await once(child.stdout!, 'data');
      await new Promise((resolve) => setTimeout(resolve, round * 15));
      child.kill('SIGKILL');
      await died(child);
    }
    const last = run(dataDir, hook.url, 'never');
    await until('every event', () => seen(hook) === ids.length, 60_000);
    await until('quiet', async () => {
      const before = hook.received.length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return hook.received.length === before;
    });
    await ended(last);
    await expectAllTold(dataDir, hook, ids);
  });

  it('a failing delivery continues on its schedule', async () => {
    const dataDir = directory();
    const hook = await receiver();
    hook.behave = answer(500);
    const [id] = await written(dataDir, 1, 1);
    await died(run(dataDir, hook.url, 'after-record', 2));
    expect(hook.received).toHaveLength(2);
    hook.behave = (request, socket, count) => answer(count >= 4 ? 200 : 500)(request, socket, count);
    const second = run(dataDir, hook.url, 'never');
    await until('the last attempt', () => hook.received.length === 4, 30_000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await ended(second);
    const gaps = hook.received.slice(1).map((got, index) => (got.atMs - hook.received[index]!.atMs) / 1000);
    gaps.forEach((gap, index) => expect(gap).toBeGreaterThanOrEqual(2 ** index - 0.05));
    const world = await WebhookWorld.open({ dataDir });
    const history = await world.history(id!);
    await world.close();
    expect(history.map((event) => event.type)).toEqual([
      'DeliveryScheduled',
      'DeliveryAttempted',
      'DeliveryAttempted',
      'DeliveryAttempted',
      'DeliveryAttempted',
      'DeliverySucceeded',
    ]);
  });
});
