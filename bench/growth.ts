import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { openSqliteEventStore } from '../src/adapters/sqlite/event-log/event-store.ts';
import { serveSqliteReadModel } from '../src/adapters/sqlite/read-model/read-model.ts';
import { PROJECTIONS } from '../src/look-ups/projections.ts';
import type { SessionEvent } from '../src/domain/events/session-events.ts';
import { base32, type MerchantId, type SessionId } from '../src/domain/values/ids.ts';
import { sessionStream } from '../src/domain/values/streams.ts';
import { AddressIndex } from '../src/features/addresses/address-index.ts';
import { Backlog } from '../src/features/webhooks/backlog.ts';
import { load, signedCreate, signedRequest, type BenchKey } from './create-session/load.ts';
import { shown, type Curve } from './curve.ts';
import { encoded, expired, rebuild } from './ledger.ts';
import { treeClocksUs, treeRssMib } from './payments/processes.ts';
import type { BenchSection } from './section.ts';
import { parseMasterKeys } from '../src/runtime/cryptography/sealing.ts';
import { authenticationKeys } from '../src/settings/sealing-keys.ts';

/*
 * The same service with ever more sessions: what a create, a get, a page of a list, the match of a transfer, a start
 * and the memory are then. All by processor time, since the machine may be shared.
 */

const SIZES = (process.env.BENCH_GROWTH ?? '10000,40000,160000').split(',').map(Number);
/** A size is left out when it would not be measured within the time that the run of all benches leaves. */
const SECONDS = Number(process.env.BENCH_SECONDS ?? Infinity);
/** A size of five times the sessions takes less than five times as long, but not always. */
const MARGIN = 0.8;
const REQUESTS = 2_000;
const WARM_UP = 500;
const CONNECTIONS = 16;
const IN_FLIGHT = 2_000;
const SETTLED_MS = 1_500;
const LONGEST_CATCH_UP_MS = 20_000;
const LOOK_UPS = 300_000;
const DAY_SEC = 86_400;
const LIFETIME_SEC = 1_800;
/** The newest sessions of each size have not ended. */
const OPEN = 1_000;
/** The last figure over the first. */
const FLAT = 1.25;
const SERVER = new URL('./create-session/quittance.server.ts', import.meta.url);

type Figure = 'create' | 'get' | 'list' | 'match' | 'start' | 'memory';
const FIGURES: readonly { readonly name: Figure; readonly title: string; readonly unit: string }[] = [
  { name: 'create', title: 'CPU of a durable create', unit: 'microseconds' },
  { name: 'get', title: 'CPU of a signed get', unit: 'microseconds' },
  { name: 'list', title: 'CPU of a random page of 20 with its total', unit: 'microseconds' },
  { name: 'match', title: "Match of a stranger's transfer", unit: 'nanoseconds' },
  { name: 'start', title: 'CPU of a start until it answers', unit: 'seconds' },
  { name: 'memory', title: 'Resident memory after the start', unit: 'MiB' },
];
type Figures = Readonly<Record<Figure, number>> & { readonly startedSec: number };
type Measured = Figures & { readonly sessions: number; readonly tookSec: number };

interface World {
  readonly dataDir: string;
  readonly key: BenchKey;
  readonly masterKey: string;
  merchantId: MerchantId;
  readonly addresses: AddressIndex;
  /** Some of all. */
  readonly sample: string[];
  sessions: number;
}

interface Running {
  readonly child: ChildProcess;
  readonly port: number;
  readonly merchantId: MerchantId;
  readonly startedSec: number;
}

async function start({ dataDir, key, masterKey }: World): Promise<Running> {
  const keys = { BENCH_API_KEY: key.apiKey, BENCH_API_SECRET: key.secret, BENCH_MASTER_KEY: masterKey };
  const startedMs = performance.now();
  const child = fork(SERVER, {
    env: { ...process.env, NODE_ENV: 'production', BENCH_DATA_DIR: dataDir, ...keys },
    execArgv: [],
  });
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('the service did not start'))),
  ])) as [Pick<Running, 'port' | 'merchantId'>];
  return { child, ...message, startedSec: (performance.now() - startedMs) / 1_000 };
}

async function stop({ child }: Running): Promise<void> {
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}

/** Sessions, as far as they are not there yet, and their rows. All but the newest have expired. */
async function fill(world: World, sessions: number): Promise<void> {
  const store = await openSqliteEventStore({
    dataDir: world.dataDir,
    sealKeys: authenticationKeys(parseMasterKeys(world.masterKey)),
  });
  const firstSec = Math.floor(Date.now() / 1_000) - 200 * DAY_SEC;
  for (let first = world.sessions; first < sessions; first += IN_FLIGHT) {
    const count = Math.min(IN_FLIGHT, sessions - first);
    await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const number = first + index;
        const id = `cs_${base32(randomBytes(20))}` as SessionId;
        const address = `0x${randomBytes(20).toString('hex')}`;
        world.addresses.add(address, id);
        if (number % 50 === 0) world.sample.push(id);
        const atSec = firstSec + number;
        const stream = sessionStream(id);
        const isOpen = number >= sessions - OPEN;
        const lifetimeSec = isOpen ? 400 * DAY_SEC : LIFETIME_SEC;
        const events = [created(id, world.merchantId, { number, atSec, lifetimeSec, address })];
        if (!isOpen) events.push(expired(atSec + lifetimeSec));
        await store.append({
          stream,
          expected: 'no-stream',
          events: encoded(stream, atSec, events, () => randomUUID()),
        });
      }),
    );
  }
  world.sessions = sessions;
  const head = await store.head();
  await store.close();
  const { port1, port2 } = new MessageChannel();
  const readModel = serveSqliteReadModel({ dataDir: world.dataDir, port: port1 });
  await rebuild(world.dataDir, readModel, PROJECTIONS);
  // Their webhooks are long done, or the service would spend minutes on them.
  const backlog = new Backlog(readModel, () => {});
  await backlog.open();
  await backlog.flush(head);
  await readModel.close();
  port1.close();
  port2.close();
}

interface Place {
  readonly number: number;
  readonly atSec: number;
  readonly lifetimeSec: number;
  readonly address: string;
}

function created(
  sessionId: SessionId,
  merchantId: MerchantId,
  { number, atSec, lifetimeSec, address }: Place,
): SessionEvent {
  const token = { coin: 'USDT', tokenAddress: `0x${'ab'.repeat(20)}`, decimals: 6, chainId: '11155111' } as const;
  const option = {
    network: 'ethereum',
    ...token,
    address,
    derivationIndex: number,
    finality: { kind: 'finalized' },
  } as const;
  return {
    type: 'SessionCreated',
    data: {
      sessionId,
      mode: 'test',
      merchantId,
      orderId: `order-${number}`,
      requestHash: 'ab'.repeat(32),
      amount: '12.50',
      currency: 'EUR',
      ...{ dueCoin: 'USDT', dueAmount: '13.50', taxAmount: null, shippingAmount: null, domainId: null, personal: null },
      rateLock: { rate: '1.08', lockedAtSec: atSec, rule: 'median-1', quotes: [] },
      createdAtSec: atSec,
      expiresAtSec: atSec + lifetimeSec,
      paymentOptions: [option],
      policy: { tolerance: '0', dustLimit: '0.01' },
    },
  };
}

const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)]!;

/** CPU of all threads for one request, in microseconds, with what follows the answers. */
async function cpuUs({ child, port }: Running, request: () => Buffer): Promise<number> {
  const run = async (count: number): Promise<void> => {
    const { statuses } = await load(port, Array.from({ length: count }, request), CONNECTIONS);
    if (statuses['200'] !== count) throw new Error(`answered ${JSON.stringify(statuses)}`);
    await sleep(SETTLED_MS);
  };
  await run(WARM_UP);
  const before = totalUs(child);
  await run(REQUESTS);
  return (totalUs(child) - before) / REQUESTS;
}

const totalUs = ({ pid }: ChildProcess): number => [...treeClocksUs(pid!).values()].reduce((sum, us) => sum + us, 0);

/** Nanoseconds for the address of one transfer that is not ours. */
function matchNs({ addresses }: World): number {
  const strangers = Array.from({ length: LOOK_UPS }, () => `0x${'0'.repeat(24)}${randomBytes(20).toString('hex')}`);
  addresses.isOurs.sift!(strangers);
  const before = process.cpuUsage();
  const found = addresses.isOurs.sift!(strangers).length;
  const { user, system } = process.cpuUsage(before);
  if (found > LOOK_UPS / 10) throw new Error(`${found} strangers are taken for ours`);
  return ((user + system) * 1_000) / LOOK_UPS;
}

/** Until the service does little by itself: what it catches up with after a start is no cost of a request. */
async function calm(running: Running): Promise<void> {
  const endMs = Date.now() + LONGEST_CATCH_UP_MS;
  for (let before = 0; Date.now() < endMs;) {
    await sleep(SETTLED_MS);
    const after = totalUs(running.child);
    if (before > 0 && after - before < (SETTLED_MS * 1_000) / 10) return;
    before = after;
  }
}

async function measure(world: World): Promise<Figures> {
  // What was filled in beside the service is new to it once.
  const first = await start(world);
  await calm(first);
  await stop(first);
  const running = await start(world);
  const startSec = totalUs(running.child) / 1e6;
  await calm(running);
  const memory = treeRssMib(running.child.pid!);
  const pages = Math.floor(world.sessions / 20);
  const figures = {
    create: await cpuUs(running, () => signedCreate(world.key)),
    get: await cpuUs(running, () => signedRequest(world.key, 'GET', `/api/v1/checkout/sessions/${pick(world.sample)}`)),
    list: await cpuUs(running, () =>
      signedRequest(
        world.key,
        'GET',
        `/v1/payment/sessions?page=${1 + Math.floor(Math.random() * pages)}&page_size=20`,
      ),
    ),
  };
  await stop(running);
  return { ...figures, match: matchNs(world), start: startSec, memory, startedSec: running.startedSec };
}

export async function benchGrowth(): Promise<BenchSection> {
  const world: World = {
    dataDir: mkdtempSync(join(tmpdir(), 'quittance-bench-growth-')),
    key: { apiKey: `sk_test_${randomBytes(24).toString('hex')}`, secret: randomBytes(32).toString('hex') },
    masterKey: randomBytes(32).toString('hex'),
    merchantId: '' as MerchantId,
    addresses: new AddressIndex('evm'),
    sample: [],
    sessions: 0,
  };
  try {
    const empty = await start(world);
    world.merchantId = empty.merchantId;
    await stop(empty);
    const measured: Measured[] = [];
    for (const sessions of SIZES) {
      if (!isTimeFor(sessions, measured)) break;
      const startedMs = performance.now();
      await fill(world, sessions);
      const figures = await measure(world);
      measured.push({ ...figures, sessions, tookSec: (performance.now() - startedMs) / 1_000 });
      console.log(measured.at(-1));
    }
    return sectionOf(measured);
  } finally {
    rmSync(world.dataDir, { recursive: true, force: true });
  }
}

/** By what the size before took; two sizes are measured in any case, since one is no curve. */
function isTimeFor(sessions: number, measured: readonly Measured[]): boolean {
  const last = measured.at(-1);
  if (!last || measured.length < 2) return true;
  const leftSec = SECONDS - measured.reduce((sum, { tookSec }) => sum + tookSec, 0);
  return last.tookSec * (sessions / last.sessions) * MARGIN < leftSec;
}

function sectionOf(measured: readonly Measured[]): BenchSection {
  const TEN_MILLION = 10_000_000;
  const curves = FIGURES.map(({ name, title, unit }): Curve => ({
    ...{ name, title, unit },
    points: measured.map((figures) => ({ sessions: figures.sessions, value: figures[name] })),
  }));
  const ratioOf = ({ points }: Curve): number => points.at(-1)!.value / points[0]!.value;
  const { startedSec, sessions } = measured.at(-1)!;
  const largest = sessions.toLocaleString('en-US');
  const leftOut = SIZES.slice(measured.length);
  return {
    title: 'Growth',
    intro:
      'The whole service, with ever more sessions of one merchant in its log and look-ups, of which all but the newest 1,000 have expired, ' +
      'so that each has two events. Processor time of all threads; ' +
      'the ratio is of the last to the first.',
    columns: [
      'what',
      ...measured.map((figures) => figures.sessions.toLocaleString('en-US')),
      'ratio',
      `${TEN_MILLION.toLocaleString('en-US')}, by the slope`,
    ],
    rows: curves.map((curve) => [
      `${curve.title}, ${curve.unit}`,
      ...curve.points.map(({ value }) => shown(value)),
      ratioOf(curve).toFixed(2),
      shown(bySlope(curve.points, TEN_MILLION)),
    ]),
    notes: [
      `By the clock the starts took ${measured.map(({ startedSec }) => `${startedSec.toFixed(1)} s`).join(', ')}.`,
      ...leftOut.map((size) => `There was no time left for ${size.toLocaleString('en-US')} sessions.`),
      'The last column was not measured: it is the straight line through the last two figures, and never less than the last one.',
      `\`BENCH_GROWTH=10000,1000000,10000000 npm run bench -- growth\` measures as far as there are time and disk.`,
    ],
    curves,
    goals: [
      {
        goal: 'A start over a million events takes at most 3 s',
        measured: `${startedSec.toFixed(1)} s over ${(2 * sessions).toLocaleString('en-US')} events`,
        holds: startedSec <= 3,
        needed:
          'Nothing is served or written before the whole log has been verified (ADR 0040): that is what grows. It would take a check of only what came after the last signed checkpoint, and new events behind damage that nobody has seen yet',
      },
      {
        goal: `Create, get, list, match, start and memory are flat up to ${largest} sessions (at most ${FLAT})`,
        measured: curves.map((curve) => `${curve.name} ${ratioOf(curve).toFixed(2)}`).join(', '),
        holds: curves.every((curve) => ratioOf(curve) <= FLAT),
        needed: 'A start verifies the whole log. Lists read more leaves that are not in a cache',
      },
    ],
  };
}

function bySlope(points: Curve['points'], sessions: number): number {
  const [one, other] = points.slice(-2) as [Curve['points'][number], Curve['points'][number]];
  const slope = (other.value - one.value) / (other.sessions - one.sessions);
  return Math.max(other.value, other.value + slope * (sessions - other.sessions));
}
