import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { MerchantId, SessionId } from '../../src/domain/values/ids.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import { NOTIFYING_EVENTS } from '../../src/features/shared/handlers/session-handler.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { encodeEvent } from '../../src/runtime/commands/codec.ts';
import { NotificationIds } from '../../src/runtime/commands/notification-ids.ts';
import { eventually, signedCall } from '../support/running-sandbox.ts';
import { startServiceInProcess, type ServiceInProcess } from '../support/service-in-process.ts';
import { createdFacts } from '../support/session-facts.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { BY } from '../support/by-operator.ts';
import { SEAL_KEYS } from '../support/test-keys.ts';

const DAY_SEC = 86_400;
const OLD_DAYS = 100;
const OLD = 120;
const SETTINGS = { LOOK_UP_ARCHIVE_AFTER_DAYS: '30' };
const NOW_SEC = Math.floor(Date.now() / 1_000);
const FIRST_SEC = NOW_SEC - OLD_DAYS * DAY_SEC;

const notificationIds = new NotificationIds(systemClock);
const folder = temporaryFolder('archives');
const dataDir = join(folder, 'data');
let merchant: { readonly id: MerchantId; readonly api_key: string; readonly api_secret: string };

const idOf = (index: number): SessionId =>
  `cs_${[...String(index).padStart(32, '0')].map((digit) => 'abcdefghij'[Number(digit)]).join('')}` as SessionId;
const createdSecOf = (index: number): number => FIRST_SEC + index * 60;

/** Orders of a hundred days ago that nobody paid, and one of today. */
async function appendOrders(): Promise<void> {
  const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  for (let index = 0; index <= OLD; index += 1) {
    const createdAtSec = index === OLD ? NOW_SEC : createdSecOf(index);
    const expiresAtSec = createdAtSec + 1_800;
    const sessionId = idOf(index);
    const facts = { sessionId, merchantId: merchant.id, orderId: `order-${index}`, createdAtSec, expiresAtSec };
    const events: SessionEvent[] = [{ type: 'SessionCreated', data: createdFacts(facts) }];
    if (index < OLD)
      events.push({
        type: 'SessionExpired',
        data: { expiredAtSec: expiresAtSec, coin: 'USDT', received: '0', scannedToSec: {} },
      });
    const stream = sessionStream(sessionId);
    let prev = '';
    const encoded = events.map((event, revision) => {
      const notificationId = NOTIFYING_EVENTS.has(event.type) ? notificationIds.next() : undefined;
      const metadata = { correlationId: 'test', actor: 'test', prev, notificationId };
      const one = encodeEvent({ id: randomUUID(), stream, revision, atMs: createdAtSec * 1_000, event, metadata });
      prev = one.hash;
      return one;
    });
    await store.append({ stream, expected: 'no-stream', events: encoded });
  }
  await store.close();
}

const ARCHIVES = join(dataDir, 'read-model.archive');
const archives = (): string[] =>
  existsSync(ARCHIVES)
    ? readdirSync(ARCHIVES)
        .filter((name) => !/-(wal|shm)$/.test(name))
        .sort()
    : [];

async function withService(settings: Record<string, string>, use: (service: ServiceInProcess) => Promise<void>) {
  const service = await startServiceInProcess(dataDir, { settings });
  try {
    await use(service);
  } finally {
    await service.close();
  }
}

const get = (service: ServiceInProcess, path: string) => signedCall(service.baseUrl, merchant, 'GET', path);

const lookedUp = (service: ServiceInProcess): Promise<unknown> =>
  eventually('the look-ups of all orders', async () => {
    const { json } = await get(service, '/v1/payment/sessions?page_size=1');
    return JSON.stringify(json).includes(`"total":${OLD + 1}`);
  });

/** Everything that a merchant reads of the orders. */
async function readAll(service: ServiceInProcess): Promise<unknown> {
  const middle = `created_from=${createdSecOf(40)}&created_to=${createdSecOf(59)}`;
  const paths = [
    '/v1/payment/sessions?page=1&page_size=100',
    '/v1/payment/sessions?page=2&page_size=100',
    '/v1/payment/sessions?status=expired&page=3&page_size=20',
    `/v1/payment/sessions?${middle}&page_size=100`,
    '/v1/payment/sessions?order_id=order-7',
    `/api/v1/checkout/sessions/${idOf(7)}`,
    `/api/v1/checkout/sessions/${idOf(OLD)}`,
  ];
  const answers = await Promise.all(paths.map((path) => get(service, path)));
  return answers.map(({ status, json }) => `${status} ${JSON.stringify(json).replaceAll(service.baseUrl, '')}`);
}

beforeAll(async () => {
  await withService({}, async ({ core }) => {
    const registered = await core.merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY);
    if (!registered.ok) throw new Error(registered.refusal.message);
    merchant = registered.value;
  });
  await appendOrders();
}, 60_000);

test('old orders move to archives and read as before, with the setting, without it, and without the file', async () => {
  let before: unknown;
  await withService({}, async (service) => {
    await lookedUp(service);
    before = await readAll(service);
  });
  expect(archives()).toEqual([]);
  expect(JSON.stringify(before)).toContain('order-7');
  await withService(SETTINGS, async (service) => {
    await eventually('an archive of the month', async () => archives().length > 0);
    expect(await readAll(service)).toEqual(before);
  });
  const kept = archives();
  await withService({}, async (service) => expect(await readAll(service)).toEqual(before));
  expect(archives()).toEqual(kept);
  rmSync(join(ARCHIVES, kept[0]!));
  await withService(SETTINGS, async (service) => {
    await lookedUp(service);
    expect(await readAll(service)).toEqual(before);
  });
}, 120_000);
