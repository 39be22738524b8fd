import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { MessageChannel } from 'node:worker_threads';
import { openSqliteEventStore } from '../src/adapters/sqlite/event-log/event-store.ts';
import { serveSqliteReadModel } from '../src/adapters/sqlite/read-model/read-model.ts';
import { callAdmin } from '../src/cli/admin-client.ts';
import { PROJECTIONS } from '../src/look-ups/projections.ts';
import type { DeliveryEvent } from '../src/domain/events/delivery-events.ts';
import type { MerchantId, NotificationId } from '../src/domain/ids.ts';
import { dayOf } from '../src/domain/calendar.ts';
import { deliveryStream, sessionStream } from '../src/domain/streams.ts';
import { OpenIdProvider } from '../test/support/openid-provider.ts';
import { signedCall } from '../test/support/running-sandbox.ts';
import { encoded, rebuild, sessionOf } from './ledger.ts';
import { startSandbox, stop } from './payments/service.ts';
import { percentile, type BenchSection } from './section.ts';

/*
 * Every kind of page of the console, on the whole sandbox with one merchant who has many payments: bytes, and the
 * server's time from the request to the whole answer. The payments are written into the event log of a sandbox that
 * ran before, whose look-ups are then made as a rebuild makes them.
 */

const SESSIONS = Number(process.env['BENCH_CONSOLE_SESSIONS'] ?? 1_000_000);
const DAYS = 60;
const IN_FLIGHT = 2_000;
/** One of so many payments has a webhook that was delivered. */
const DELIVERED = 4;
const REQUESTS = 60;
const ROUNDS = 40;
const WARM_UP = 5;
/** A slow page is measured in fewer rounds. */
const LONGEST_MS = 4_000;
const START_MS = 300_000;
const MOST_BYTES = 100 * 1024;
const MOST_MS = 100;

interface Merchant {
  readonly id: MerchantId;
  readonly api_key: string;
  readonly api_secret: string;
}

/** Some of the payments, to look at. */
interface Filled {
  readonly payment: string;
  readonly order: string;
  readonly event: string;
  readonly nowSec: number;
}

async function fill(dataDir: string, merchantId: MerchantId): Promise<Filled> {
  const store = await openSqliteEventStore({ dataDir });
  const nowSec = Math.floor(Date.now() / 1000);
  let some: Filled | null = null;
  const write = async (index: number): Promise<void> => {
    const atSec = nowSec - Math.floor((1 - index / SESSIONS) * DAYS * 86_400) - 3_600;
    const { id, events } = sessionOf(index, { merchantId, mode: 'test', atSec });
    const stream = sessionStream(id);
    const written = encoded(stream, atSec, events);
    await store.append({ stream, expected: 'no-stream', events: written });
    if (index % DELIVERED !== 0) return;
    const { notificationId } = JSON.parse(written.at(-1)!.metadata) as { notificationId: NotificationId };
    const told = deliveryStream(notificationId);
    const delivered = deliveryOf(notificationId, { merchantId, sessionId: id, atMs: atSec * 1000 });
    await store.append({ stream: told, expected: 'no-stream', events: encoded(told, atSec, delivered) });
    some = { payment: id, order: `order-${index}`, event: notificationId, nowSec };
  };
  for (let first = 0; first < SESSIONS; first += IN_FLIGHT)
    await Promise.all(
      Array.from({ length: Math.min(IN_FLIGHT, SESSIONS - first) }, (_, index) => write(first + index)),
    );
  await store.close();
  const { port1, port2 } = new MessageChannel();
  const readModel = serveSqliteReadModel({ dataDir, port: port1 });
  await rebuild(dataDir, readModel, PROJECTIONS);
  await readModel.close();
  port1.close();
  port2.close();
  if (some === null) throw new Error('no payment was written');
  return some;
}

function deliveryOf(
  notificationId: NotificationId,
  {
    merchantId,
    sessionId,
    atMs,
  }: { readonly merchantId: MerchantId; readonly sessionId: string; readonly atMs: number },
): DeliveryEvent[] {
  const endpointId = 'we_abcdefghij2345672345';
  const attempt = {
    ...{ attempt: 1, nonce: 'b3f0c2d4e5a697886f5e4d3c2b1a0918', startedAtMs: atMs, durationMs: 85 },
    ...{ address: '203.0.113.7', status: 200, failure: null, detail: null, answerIncomplete: false, answerHash: null },
    ...{ nextAttemptAtMs: null, trigger: 'automatic' as const },
  };
  const body = JSON.stringify({ id: notificationId, type: 'payment.completed', data: { session_id: sessionId } });
  const scheduled = { eventType: 'payment.completed', sessionId, body, scheduledAtMs: atMs };
  return [
    { type: 'DeliveryScheduled', data: { notificationId, merchantId, mode: 'test', endpointId, ...scheduled } },
    { type: 'DeliveryAttempted', data: { notificationId, merchantId, endpointId, ...attempt } },
    { type: 'DeliverySucceeded', data: { notificationId, attempt: 1 } },
  ];
}

const cookiesIn = (answer: Response): string =>
  answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');

/** Single sign-on asks nobody for a fingerprint. */
async function signIn(origin: string): Promise<string> {
  const there = await fetch(`${origin}/sign-in/sso?to=/`, { redirect: 'manual' });
  const provider = await fetch(there.headers.get('location')!, { redirect: 'manual' });
  const back = provider.headers.get('location')!;
  const answer = await fetch(back, { redirect: 'manual', headers: { cookie: cookiesIn(there) } });
  if (answer.status !== 200) throw new Error(`not signed in: ${answer.status} ${await answer.text()}`);
  return cookiesIn(answer);
}

function pagesOf({ id }: Merchant, { payment, order, event, nowSec }: Filled): [name: string, path: string][] {
  const shop = `/m/${id}`;
  const day = (ago: number): string => dayOf(nowSec - ago * 86_400);
  return [
    ['home of a merchant, with 14 days as a chart', shop],
    ['payments, the newest 50, with totals', `${shop}/payments`],
    ['payments that are paid', `${shop}/payments?status=paid`],
    ['payments of the oldest days', `${shop}/payments?to=${day(DAYS - 5)}`],
    ['totals by day (CSV)', `${shop}/payments/totals.csv`],
    ['one payment', `${shop}/payments/${payment}`],
    ['claims', `${shop}/claims`],
    ['payment links', `${shop}/links`],
    ['webhooks', `${shop}/webhooks`],
    ['one webhook', `${shop}/webhooks/${event}`],
    ['keys', `${shop}/keys`],
    ['settings', `${shop}/settings`],
    ['requests', `${shop}/requests`],
    ['statement of a merchant', `${shop}/statement`],
    ['trial balance', '/books/test'],
    ['trial balance as of a past day', `/books/test?asOf=${day(20)}`],
    ['account', `/books/test/account?account=${encodeURIComponent(`liabilities:merchants:${id}:payable`)}`],
    ['journal', '/books/test/journal'],
    ['months, with the checklist', '/books/test/months'],
    ['entries by hand', '/adjustments?mode=test'],
    ['treasury', '/treasury?mode=test'],
    ['balances against the books', '/treasury/balances?mode=test'],
    ['sweeps', '/treasury/sweeps?mode=test&network=bsc'],
    ['chains', '/chains?mode=test'],
    ['canaries', '/canaries?mode=test'],
    ['needs attention', '/attention?mode=test'],
    ['unmatched transfers', '/unmatched?mode=test'],
    ['failed deliveries', '/deliveries?mode=test'],
    ['merchants', '/merchants?mode=test'],
    ['people', '/people'],
    ['actions', '/actions'],
    ['audit', '/audit'],
    ['proof of a payment (JSON)', `/audit/proof?session=${payment}`],
    ['search for an order', `/search?q=${order}&mode=test`],
    ['search for nothing that there is', '/search?q=nothing-like-it&mode=test'],
  ];
}

interface Measured {
  readonly bytes: number;
  readonly sent: number;
  readonly wallMs: readonly number[];
  readonly cpuMs: number;
}

const TICK_MS = 10;

/** Of the whole process, threads that have ended included (proc_pid_stat(5)). */
function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function measure(url: string, cookie: string, pid: number): Promise<Measured> {
  const wallMs: number[] = [];
  let body = '';
  const ask = async (): Promise<number> => {
    const startedMs = performance.now();
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
    body = await answer.text();
    if (answer.status !== 200 && answer.status !== 303) throw new Error(`${url}: ${answer.status} ${body}`);
    return performance.now() - startedMs;
  };
  const endMs = performance.now() + LONGEST_MS;
  for (let round = 0; round < WARM_UP && performance.now() < endMs; round += 1) await ask();
  const before = cpuMsOf(pid);
  do wallMs.push(await ask());
  while (wallMs.length < ROUNDS && performance.now() < endMs);
  const cpuMs = (cpuMsOf(pid) - before) / wallMs.length;
  return { bytes: Buffer.byteLength(body), sent: brotliCompressSync(body).length, wallMs, cpuMs };
}

/** Also the section of `npm run bench`. */
export async function benchConsole(): Promise<BenchSection> {
  const folder = mkdtempSync(join(process.cwd(), '.bench-console-'));
  const dataDir = join(folder, 'data');
  const provider = await OpenIdProvider.start();
  provider.claims = { sub: 'bench', preferred_username: 'Bench', groups: ['all'] };
  const env = {
    ...{ CONSOLE_SSO_ISSUER: provider.issuer, CONSOLE_SSO_CLIENT_ID: provider.clientId },
    ...{ CONSOLE_SSO_CLIENT_SECRET: provider.clientSecret, CONSOLE_SSO_ROLES_CLAIM: 'groups' },
    ...{ CONSOLE_SSO_ROLES: JSON.stringify({ all: 'support,finance,operator,approver' }) },
  };
  let running: Awaited<ReturnType<typeof startSandbox>> | null = null;
  try {
    running = await startSandbox(folder, env, START_MS);
    const merchant = (await callAdmin(dataDir, 'merchant.create', {
      name: 'Bench',
      mode: 'test',
    })) as unknown as Merchant;
    await stop(running);
    const filled = await fill(dataDir, merchant.id);
    running = await startSandbox(folder, env, START_MS);
    const { base_url: base, console_url: origin } = running.facts;
    for (let request = 0; request < REQUESTS; request += 1)
      await signedCall(base, merchant, 'GET', `/api/v1/checkout/sessions/${filled.payment}`);
    const cookie = await signIn(origin);
    const measured: (readonly [string, Measured])[] = [];
    for (const [name, path] of pagesOf(merchant, filled)) {
      measured.push([name, await measure(origin + path, cookie, running.child.pid!)]);
    }
    return sectionOf(measured);
  } finally {
    if (running) await stop(running);
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function sectionOf(measured: readonly (readonly [string, Measured])[]): BenchSection {
  const shown = (value: number): string => value.toLocaleString('en');
  const isPage = (name: string): boolean => !/\((?:CSV|JSON)\)$/.test(name);
  const above = measured.filter(([name, { bytes, cpuMs }]) => isPage(name) && (bytes > MOST_BYTES || cpuMs > MOST_MS));
  const largest = Math.max(...measured.map(([, { bytes }]) => bytes));
  const slowest = Math.max(...measured.map(([, { cpuMs }]) => cpuMs));
  return {
    title: 'Console',
    intro:
      `Every kind of page of the console over HTTP, on the sandbox with its chains and one merchant with ${shown(SESSIONS)} payments, a quarter of them with a delivered webhook: ` +
      `bytes before and after compression, the time until the whole answer (at most ${ROUNDS} rounds), and the processor time of the service for each.`,
    columns: ['page', 'bytes', 'compressed', 'p50 ms', 'p95 ms', 'CPU ms'],
    rows: measured.map(([name, { bytes, sent, wallMs, cpuMs }]) => [
      name,
      shown(bytes),
      shown(sent),
      percentile(wallMs, 0.5).toFixed(1),
      percentile(wallMs, 0.95).toFixed(1),
      cpuMs.toFixed(1),
    ]),
    goals: [
      {
        goal: `Every page of the console is below 100 KB and ${MOST_MS} ms of processor time with ${shown(SESSIONS)} payments`,
        measured: `at most ${shown(largest)} bytes and ${slowest.toFixed(0)} ms`,
        holds: above.length === 0,
        needed: `Pages above it: ${above.map(([name]) => name).join(', ')}`,
      },
    ],
  };
}
