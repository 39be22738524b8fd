import { fork, type ChildProcess } from 'node:child_process';
import { createSecretKey } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { nodeRandom } from '../src/adapters/node/random.ts';
import { SqliteDeliveryAnswers } from '../src/adapters/sqlite/delivery-answers.ts';
import { openEsdbEventStore } from '../src/adapters/esdb/event-store.ts';
import { openSqliteReadModel } from '../src/adapters/sqlite/read-model/read-model.ts';
import { openSqliteEventStore } from '../src/adapters/sqlite/event-log/event-store.ts';
import { HttpWebhookSender } from '../src/adapters/webhook-http/sender.ts';
import { type MerchantId, type SessionId, base32 } from '../src/domain/values/ids.ts';
import { NOTIFICATION_TYPES } from '../src/domain/notifications/types.ts';
import { sessionStream } from '../src/domain/values/streams.ts';
import type { WebhookEndpoint } from '../src/ports/webhooks/endpoint-directory.ts';
import type { EventStore, RecordedEvent, SubscribeOptions } from '../src/ports/event-log/event-store.ts';
import { silentLog } from '../src/ports/log.ts';
import { systemTimers } from '../src/ports/timers.ts';
import { DeliverWebhooks, type DeliveryObserver } from '../src/features/webhooks/deliver.process.ts';
import { encodeEvent } from '../src/runtime/commands/codec.ts';
import { NotificationIds } from '../src/runtime/commands/notification-ids.ts';
import { createDeliveryHandler } from '../src/features/shared/handlers/delivery-handler.ts';
import { sendBare } from './webhooks/bare-sender.ts';
import { median, percentile, type BenchSection } from './section.ts';

/*
 * Deliveries per second from the log to local receivers and back into the log, against bare undici POSTs that only
 * sign; and what one endpoint that hangs does to the others.
 */

const ROUNDS = 3;
const DELIVERIES = 10_000;
const ON_SERVERS = 2_000;
const ENDPOINTS = 16;
const IN_FLIGHT_PER_ENDPOINT = 5;
const SECRET = 'whsec_bench';

const merchantOf = (index: number): MerchantId =>
  `mer_${base32(Buffer.from(String(index).padStart(12, '0'))).slice(0, 20)}` as MerchantId;

interface Receiver {
  readonly url: string;
  close(): Promise<void>;
}

async function startReceiver(): Promise<Receiver> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'webhooks', 'receiver.ts'));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const close = async (): Promise<void> => {
    child.disconnect();
    await once(child, 'exit');
  };
  return { url: `http://127.0.0.1:${port}/hook`, close };
}

/** Accepts connections and never answers. */
async function startSilence(): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, close };
}

/** Sessions that were created and cancelled: two events each, the second one notifies. */
async function writeSessions(
  store: EventStore,
  ids: NotificationIds,
  count: number,
  merchant: (index: number) => MerchantId,
): Promise<void> {
  const write = async (index: number): Promise<void> => {
    const sessionId = `cs_${base32(nodeRandom.bytes(20))}` as SessionId;
    const stream = sessionStream(sessionId);
    const atMs = Date.now();
    const created = encodeEvent({
      id: nodeRandom.uuid(),
      stream,
      revision: 0,
      atMs,
      event: {
        type: 'SessionCreated',
        data: {
          sessionId,
          mode: 'test',
          merchantId: merchant(index),
          orderId: `order-${index}`,
          requestHash: '',
          amount: '10.50',
          currency: 'USD',
          dueCoin: 'USDT',
          dueAmount: '10.51',
          rateLock: { rate: '1.0002', lockedAtSec: 1, rule: 'static', quotes: [] },
          taxAmount: null,
          shippingAmount: null,
          createdAtSec: 1,
          expiresAtSec: 2,
          paymentOptions: [],
          policy: { tolerance: '0', dustLimit: '0.01' },
          domainId: null,
          personal: null,
        },
      },
      metadata: { correlationId: 'bench', actor: 'bench', prev: '' },
    });
    const cancelled = encodeEvent({
      id: nodeRandom.uuid(),
      stream,
      revision: 1,
      atMs,
      event: { type: 'SessionCancelled', data: { cancelledAtSec: 2, coin: 'USDT', received: '0.00', inFlight: false } },
      metadata: { correlationId: 'bench', actor: 'bench', prev: created.hash, notificationId: ids.next() },
    });
    await store.append({ stream, expected: 'no-stream', events: [created, cancelled] });
  };
  for (let from = 0; from < count; from += 500)
    await Promise.all(Array.from({ length: Math.min(500, count - from) }, (_, index) => write(from + index)));
}

/** The process is live, and the events are in the log, before the clock starts. */
function behind(store: EventStore, gate: Promise<void>): EventStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'subscribe') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      return (options: SubscribeOptions) =>
        target.subscribe({ ...options, onEvents: async (events) => (await gate, await options.onEvents(events)) });
    },
  });
}

interface Service {
  readonly store: EventStore;
  readonly ids: NotificationIds;
  close(): Promise<void>;
}

type OpenStore = (options: { readonly dataDir: string }) => Promise<EventStore>;

/** The delivery process as the service runs it; endpoint `index` is that of merchant `index`. */
async function startService(
  dataDir: string,
  urls: readonly string[],
  seenBy: (store: EventStore) => EventStore,
  observer: DeliveryObserver,
  openStore: OpenStore = openSqliteEventStore,
): Promise<Service> {
  const store = await openStore({ dataDir });
  const readModel = await openSqliteReadModel({ dataDir });
  const answers = new SqliteDeliveryAnswers({ dataDir, nowMs: () => Date.now() });
  const ids = new NotificationIds(systemTimers);
  const secret = createSecretKey(Buffer.from(SECRET));
  const endpoints = new Map<string, WebhookEndpoint>(
    urls.map((url, index) => [
      merchantOf(index),
      {
        endpointId: `we_${index}`,
        url,
        secret,
        nextSecret: null,
        durableRedelivery: false,
        standardWebhooks: false,
        suspended: false,
      },
    ]),
  );
  const sender = new HttpWebhookSender({ allowInsecure: true, ownHosts: [] });
  const process = new DeliverWebhooks({
    store: seenBy(store),
    readModel,
    handler: createDeliveryHandler({ store, clock: systemTimers, random: nodeRandom, notificationIds: ids }),
    directory: {
      endpointOf: (queue) => endpoints.get(queue) ?? null,
      subscriptionsOf: () => [{ furtherEndpointId: null, types: new Set(NOTIFICATION_TYPES), fields: [] }],
      suspend: async () => undefined,
      onChange: () => () => undefined,
    },
    sender,
    answers,
    timers: systemTimers,
    random: nodeRandom,
    log: silentLog,
    headerPrefix: 'X-Service-',
    observer,
    stopGraceMs: 100,
  });
  await process.start();
  const close = async (): Promise<void> => {
    await process.stop();
    await sender.close();
    await answers.close();
    await readModel.close();
    await store.close();
  };
  return { store, ids, close };
}

/** Delivers what the log holds; every attempt is an event that was synced before it counts. */
async function deliver(
  folder: string,
  urls: readonly string[],
  deliveries: number,
  openStore?: OpenStore,
  onEnd?: (before: NodeJS.CpuUsage) => void,
): Promise<number> {
  const dataDir = mkdtempSync(join(folder, 'run-'));
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  let recorded = 0;
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const onAttempt = (attempt: { readonly failure: string | null }): void => {
    if (attempt.failure !== null) throw new Error(`an attempt failed: ${attempt.failure}`);
    if (++recorded === deliveries) finish();
  };
  const { store, ids, close } = await startService(
    dataDir,
    urls,
    (live) => behind(live, gate),
    { onAttempt },
    openStore,
  );
  await writeSessions(store, ids, deliveries, (index) => merchantOf(index % urls.length));
  globalThis.gc?.();
  const startedMs = performance.now();
  const before = process.cpuUsage();
  open();
  await finished;
  onEnd?.(before);
  const seconds = (performance.now() - startedMs) / 1000;
  await expectRecorded(store, deliveries);
  await close();
  rmSync(dataDir, { recursive: true, force: true });
  return deliveries / seconds;
}

/** Scheduled, attempted and delivered: three events each. */
async function expectRecorded(store: EventStore, deliveries: number): Promise<void> {
  let events = 0;
  for (let after: string | null = null; ;) {
    const page: RecordedEvent[] = await store.readAll({ after, limit: 5_000, streamPrefixes: ['delivery-'] });
    events += page.length;
    after = page.at(-1)?.position ?? null;
    if (after === null) break;
  }
  if (events !== deliveries * 3) throw new Error(`the log holds ${events} events of ${deliveries} deliveries`);
}

const ISOLATION_ROUNDS = 2;
const HEALTHY = 99;
const PACE_PER_SEC = 600;
const ISOLATION_SECONDS = 3;
const HANGING_EVENTS = 10_000;

/**
 * Milliseconds from the commit of an event to its recorded delivery, for 99 merchants; beside one whose endpoint hangs,
 * or not.
 */
async function latencies(folder: string, url: string, hangingUrl: string | null): Promise<number[]> {
  const dataDir = mkdtempSync(join(folder, 'run-'));
  const urls = [hangingUrl ?? url, ...Array.from({ length: HEALTHY }, () => url)];
  const measured: number[] = [];
  const service = await startService(dataDir, urls, (store) => store, {
    onAttempt: (attempt) => {
      if (attempt.merchantId === merchantOf(0)) return;
      // An event id is the time of its decision, in nanoseconds.
      measured.push(Date.now() - Number(attempt.notificationId.slice('evt_'.length)) / 1e6);
    },
  });
  if (hangingUrl !== null) await writeSessions(service.store, service.ids, HANGING_EVENTS, () => merchantOf(0));
  const total = PACE_PER_SEC * ISOLATION_SECONDS;
  // The first moments warm up and are not counted.
  await writePaced(service, 500);
  await settled(() => measured.length === 500);
  measured.length = 0;
  await writePaced(service, total);
  await settled(() => measured.length === total);
  await service.close();
  rmSync(dataDir, { recursive: true, force: true });
  return measured;
}

async function writePaced({ store, ids }: Service, count: number): Promise<void> {
  const startedMs = performance.now();
  const writes: Promise<void>[] = [];
  for (let written = 0; written < count;) {
    const due = Math.min(count, Math.ceil(((performance.now() - startedMs) / 1_000) * PACE_PER_SEC));
    for (; written < due; written++) {
      const merchant = merchantOf(1 + (written % HEALTHY));
      writes.push(writeSessions(store, ids, 1, () => merchant));
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(writes);
}

async function settled(isOver: () => boolean): Promise<void> {
  for (const endMs = performance.now() + 60_000; !isOver();) {
    if (performance.now() > endMs) throw new Error('the deliveries do not end');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * One holder of the deliveries over the wire-level double in a process of its own: how many a second, and processor
 * time of all threads for each.
 */
export async function deliverOnServers(
  folder: string,
  urls: readonly string[],
  deliveries: number,
): Promise<{ perSec: number; cpuMicros: number }> {
  const double = fork(join(import.meta.dirname, '../test/support/esdb-double/main.ts'), {
    stdio: ['ignore', 'pipe', 2, 'ipc'],
  });
  try {
    const [line] = (await once(double.stdout!, 'data')) as [Buffer];
    const store = { connectionString: line.toString().trim(), attemptMs: 30_000, totalMs: 120_000 };
    await deliver(folder, urls, 200, () => openEsdbEventStore({ ...store, namespace: 'warm.' }));
    const used: number[] = [];
    const perSec = await deliver(
      folder,
      urls,
      deliveries,
      () => openEsdbEventStore({ ...store, namespace: 'run.' }),
      (before) => used.push(cpuSince(before)),
    );
    return { perSec, cpuMicros: used[0]! / deliveries };
  } finally {
    double.kill('SIGTERM');
  }
}

const cpuSince = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before);
  return user + system;
};

async function bare(urls: readonly string[], deliveries: number): Promise<number> {
  const events = Array.from({ length: deliveries }, (_, index) => ({
    id: `evt_${1_800_000_000_000_000_000n + BigInt(index)}`,
    type: 'payment.cancelled',
    created_at: 1_800_000_000,
    data: {
      object: {
        amount: '10.51',
        status: 'canceled',
        currency: 'USDT',
        exchange_rate: '1.0002',
        order_id: `order-${index}`,
        session_id: `cs_${'a'.repeat(32)}`,
        source: 'api',
      },
    },
  }));
  globalThis.gc?.();
  const startedMs = performance.now();
  await sendBare(urls, events, SECRET, IN_FLIGHT_PER_ENDPOINT);
  return deliveries / ((performance.now() - startedMs) / 1000);
}

/** The table of webhook deliveries; also the section of `npm run bench`. */
export async function benchWebhooks(): Promise<BenchSection> {
  const folder = mkdtempSync(join(process.cwd(), '.bench-webhooks-'));
  const receiver = await startReceiver();
  const hanging = await startSilence();
  try {
    const urls = Array.from({ length: ENDPOINTS }, () => receiver.url);
    await bare(urls, 2_000);
    await deliver(folder, urls, 2_000);
    const bareRates: number[] = [];
    const ours: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      bareRates.push(await bare(urls, DELIVERIES));
      ours.push(await deliver(folder, urls, DELIVERIES));
    }
    const ratios = ours.map((rate, index) => rate / bareRates[index]!);
    const alone: number[] = [];
    const besides: number[] = [];
    for (let round = 0; round < ISOLATION_ROUNDS; round++) {
      alone.push(percentile(await latencies(folder, receiver.url, null), 0.99));
      besides.push(percentile(await latencies(folder, receiver.url, hanging.url), 0.99));
    }
    const onServers = await deliverOnServers(folder, urls, ON_SERVERS);
    const moved = median(besides.map((p99, index) => p99 / alone[index]!));
    const row = (name: string, rates: readonly number[], ratio: string): (string | number)[] => [
      name,
      Math.round(median(rates)),
      Math.round(percentile(rates, 0)),
      Math.round(percentile(rates, 1)),
      ratio,
    ];
    return {
      title: 'Webhook deliveries',
      intro:
        `${DELIVERIES} notifications to ${ENDPOINTS} endpoints of a local receiver in another process, ${IN_FLIGHT_PER_ENDPOINT} in flight each. ` +
        'Ours begins with events of sessions in the log and ends when every delivery is scheduled, attempted and settled by events that were synced.',
      columns: ['sender', 'deliveries/s', 'slowest', 'fastest', 'ratio'],
      rows: [
        row('bare undici, signed, nothing recorded', bareRates, '1'),
        row('Quittance, every attempt durable', ours, median(ratios).toFixed(2)),
      ],
      notes: [
        `One holder with the event store on servers (the wire-level double): ${Math.round(onServers.perSec)} a second, ${Math.round(onServers.cpuMicros)} microseconds of processor time each, of ${ON_SERVERS}.`,
        `Isolation: ${HEALTHY} merchants with ${PACE_PER_SEC} events a second have their deliveries recorded within ${median(alone).toFixed(1)} ms (p99); ` +
          `beside one more merchant whose endpoint hangs on ${HANGING_EVENTS} events within ${median(besides).toFixed(1)} ms, ${moved.toFixed(2)} times as long.`,
      ],
      goals: [
        {
          goal: 'Webhooks, every attempt durable, at 0.5 of the rate of bare undici',
          measured: `${median(ratios).toFixed(2)}: ${Math.round(median(ours)).toLocaleString('en')} a second`,
          holds: median(ratios) >= 0.5,
          needed: 'Less work for each of the three events of a delivery: they are encoded, appended and followed',
        },
      ],
      sources: [
        {
          caption: 'The whole baseline',
          code: readFileSync(join(import.meta.dirname, 'webhooks', 'bare-sender.ts'), 'utf8'),
        },
      ],
    };
  } finally {
    await Promise.all([receiver.close(), hanging.close()]);
    rmSync(folder, { recursive: true, force: true });
  }
}
