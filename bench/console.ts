import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync } from 'node:zlib';
import { MessageChannel } from 'node:worker_threads';
import { openSqliteEventStore } from '../src/adapters/sqlite/event-log/event-store.ts';
import { serveSqliteReadModel } from '../src/adapters/sqlite/read-model/read-model.ts';
import { callAdmin } from '../src/cli/admin-client.ts';
import { PROJECTIONS } from '../src/look-ups/projections.ts';
import type { DeliveryEvent } from '../src/domain/events/delivery-events.ts';
import type { MerchantId, NotificationId } from '../src/domain/values/ids.ts';
import { dayOf } from '../src/domain/values/calendar.ts';
import { deliveryStream, sessionStream } from '../src/domain/values/streams.ts';
import { DELIVERIES_CHECKPOINT } from '../src/features/webhooks/backlog.ts';
import { routesWithout } from '../test/support/console-pages.ts';
import { OpenIdProvider } from '../test/support/openid-provider.ts';
import { signedCall } from '../test/support/running-sandbox.ts';
import { must } from '../src/domain/values/must.ts';
import { encoded, expired, rebuild, sessionOf } from './ledger.ts';
import { startSandbox, stop } from './payments/service.ts';
import { percentile, type BenchSection } from './section.ts';
import { parseMasterKeys } from '../src/runtime/cryptography/sealing.ts';
import { keptMasterKey } from '../src/runtime/files/kept-master-key.ts';
import { authenticationKeys } from '../src/settings/sealing-keys.ts';

/*
 * Every kind of page of the console, on the whole sandbox with one merchant who has many payments: bytes, and the
 * server's time from the request to the whole answer. The payments are written into the event log of a sandbox that
 * ran before, whose look-ups are then made as a rebuild makes them.
 */

const SESSIONS = Number(process.env['BENCH_CONSOLE_SESSIONS'] ?? 1_000_000);
/** A folder that is kept, so that its million payments can be measured again; absent: one that goes with the run. */
const KEPT = process.env['BENCH_CONSOLE_DIR'];
const DAYS = 60;
const IN_FLIGHT = 2_000;
/** One of so many sessions is paid; the others have expired. */
const PAID = 4;
/** One of so many sessions, which is paid, has a webhook that was delivered. */
const DELIVERED = 16;
const LIFETIME_SEC = 1_800;
const REQUESTS = 60;
const ROUNDS = 40;
const WARM_UP = 5;
/** A slow page is measured in fewer rounds. */
const LONGEST_MS = 4_000;
const START_MS = 1_800_000;
const LATE_MS = 60_000;
const CALM_MS = 2_000;
/** A share of one core; a sandbox at rest takes less. */
const CALM_SHARE = 0.15;
const LONGEST_CATCH_UP_MS = 1_800_000;
const MOST_BYTES = 100 * 1024;
const MOST_MS = 100;

type Running = Awaited<ReturnType<typeof startSandbox>>;

interface Merchant {
  readonly id: MerchantId;
  readonly api_key: string;
  readonly api_secret: string;
}

/** Some of the payments, to look at. */
interface Filled {
  readonly merchant: Merchant;
  readonly payment: string;
  readonly order: string;
  readonly event: string;
  readonly nowSec: number;
}

/** Sessions and their look-ups, written beside a sandbox that does not run. */
async function fill(dataDir: string, merchant: Merchant): Promise<Filled> {
  const merchantId = merchant.id;
  const store = await openSqliteEventStore({
    dataDir,
    sealKeys: authenticationKeys(parseMasterKeys(must(keptMasterKey(dataDir)))),
  });
  const nowSec = Math.floor(Date.now() / 1000);
  let some: Filled | null = null;
  const write = async (index: number): Promise<void> => {
    const atSec = nowSec - Math.floor((1 - index / SESSIONS) * DAYS * 86_400) - 3_600;
    // Deep below the head of each chain, so that the service does not look for the deposit there.
    const { id, events: paid } = sessionOf(index, { merchantId, mode: 'test', atSec, blockNumber: 1 });
    const stream = sessionStream(id);
    const events = index % PAID === 0 ? paid : [must(paid[0]), expired(atSec + LIFETIME_SEC)];
    const written = encoded(stream, atSec, events);
    await store.append({ stream, expected: 'no-stream', events: written });
    if (index % DELIVERED !== 0) return;
    const { notificationId } = JSON.parse(written.at(-1)!.metadata) as { notificationId: NotificationId };
    const told = deliveryStream(notificationId);
    const delivered = deliveryOf(notificationId, { merchantId, sessionId: id, atMs: atSec * 1000 });
    await store.append({ stream: told, expected: 'no-stream', events: encoded(told, atSec, delivered) });
    some = { merchant, payment: id, order: `order-${index}`, event: notificationId, nowSec };
  };
  for (let first = 0; first < SESSIONS; first += IN_FLIGHT)
    await Promise.all(
      Array.from({ length: Math.min(IN_FLIGHT, SESSIONS - first) }, (_, index) => write(first + index)),
    );
  const head = await store.head();
  await store.close();
  const { port1, port2 } = new MessageChannel();
  const readModel = serveSqliteReadModel({ dataDir, port: port1 });
  await rebuild(dataDir, readModel, PROJECTIONS);
  // Otherwise the service would begin by writing a delivery for each.
  await readModel.apply(DELIVERIES_CHECKPOINT, [], must(head));
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

function pagesOf({ merchant: { id }, payment, order, event, nowSec }: Filled): [name: string, path: string][] {
  const shop = `/m/${id}`;
  const day = (ago: number): string => dayOf(nowSec - ago * 86_400);
  return [
    ['first page, which leads to another', '/'],
    ['home of a merchant, with 14 days as a chart', shop],
    ['payments, the newest 50, with totals', `${shop}/payments`],
    ['payments that are paid', `${shop}/payments?status=paid`],
    ['payments of the oldest days', `${shop}/payments?to=${day(DAYS - 5)}`],
    ['totals by day (CSV)', `${shop}/payments/totals.csv`],
    ['one payment', `${shop}/payments/${payment}`],
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
    ['sweeps of more than any address holds', '/treasury/sweeps?mode=test&network=bsc&min=1000000'],
    ['chains', '/chains?mode=test'],
    ['canaries', '/canaries?mode=test'],
    ['needs attention', '/attention?mode=test'],
    ['unmatched transfers', '/unmatched?mode=test'],
    ['failed deliveries', '/deliveries?mode=test'],
    ['service', '/service'],
    ['merchants', '/merchants?mode=test'],
    ['people', '/people'],
    ['actions', '/actions'],
    ['audit', '/audit'],
    ['proof of a payment (JSON)', `/audit/proof?session=${payment}`],
    ['search for an order', `/search?q=${order}&mode=test`],
    ['search for nothing that there is', '/search?q=nothing-like-it&mode=test'],
  ];
}

/** Pages of what is made here, or whose address only another page has. */
async function madePages(
  folder: string,
  { merchant, nowSec }: Filled,
  { base_url: base, console_url: origin }: Running['facts'],
  cookie: string,
): Promise<[name: string, path: string][]> {
  const dataDir = join(folder, 'data');
  const shop = `/m/${merchant.id}`;
  const month = monthBefore(nowSec);
  const args = { merchant_id: merchant.id, amount: '5.00', currency: 'USDT', actor: 'bench' };
  const { id: link } = (await callAdmin(dataDir, 'payment-link.create', args)) as { id: string };
  const closed = JSON.stringify(await callAdmin(dataDir, 'ledger.periods', { mode: 'test' })).includes(month);
  if (!closed) await callAdmin(dataDir, 'ledger.close', { month, mode: 'test', actor: 'bench' });
  const linked = async (path: string, to: RegExp): Promise<string> => {
    const page = await (await fetch(origin + path, { headers: { cookie } })).text();
    return must(to.exec(page)?.[1]);
  };
  const transfer = await unmatchedTransfer(dataDir, base, merchant);
  return [
    ['new payment link', `${shop}/links/new`],
    ['one payment link', `${shop}/links/${link}`],
    ['one request', await linked(`${shop}/requests`, /href="(\/m\/\w+\/requests\/[^".]+)"/)],
    ['statement of a month, of the operator', `/books/test/months/${month}`],
    ['statement of a month, of a merchant', `${shop}/statement/${month}`],
    ['one person', await linked('/people', /href="(\/people\/[^"?.]+)"/)],
    ['one unmatched transfer', `/unmatched/${encodeURIComponent(transfer)}`],
    ['your own name', '/me'],
    ['sign-in', '/sign-in'],
  ];
}

/** Money that came after its payment had ended. */
async function unmatchedTransfer(dataDir: string, base: string, merchant: Merchant): Promise<string> {
  const ask = (path: string, body: object) => signedCall(base, merchant, 'POST', path, body);
  const order = { amount: '5.00', currency: 'USDT', order_id: `late-${randomUUID()}` };
  const { json: payment } = await ask('/api/v1/checkout/sessions/create', order);
  await ask(`/v1/sandbox/sessions/${String(payment['id'])}/pay`, { network: 'bsc', case: 'late' });
  for (const endMs = Date.now() + LATE_MS; Date.now() < endMs; await sleep(100)) {
    const listed = (await callAdmin(dataDir, 'inbox.list', { mode: 'test' })) as { transfers: { id: string }[] };
    const [transfer] = listed.transfers;
    if (transfer !== undefined) return transfer.id;
  }
  throw new Error('the late transfer did not arrive');
}

function monthBefore(nowSec: number): string {
  const date = new Date(nowSec * 1000);
  date.setUTCDate(0);
  return date.toISOString().slice(0, 7);
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
  const folder = KEPT ?? mkdtempSync(join(process.cwd(), '.bench-console-'));
  const provider = await OpenIdProvider.start();
  // Each run has a provider of its own, and so a person.
  const name = `Bench ${randomUUID()}`;
  provider.claims = { sub: name, preferred_username: name, groups: ['all'] };
  const env = {
    ...{ CONSOLE_SSO_ISSUER: provider.issuer, CONSOLE_SSO_CLIENT_ID: provider.clientId },
    ...{ CONSOLE_SSO_CLIENT_SECRET: provider.clientSecret, CONSOLE_SSO_ROLES_CLAIM: 'groups' },
    ...{ CONSOLE_SSO_ROLES: JSON.stringify({ all: 'support,finance,operator,approver' }) },
  };
  let running: Running | null = null;
  try {
    const filled = await filledIn(folder);
    running = await startSandbox(folder, env, START_MS);
    const pid = running.child.pid!;
    const idleMs = await calm(pid);
    const { base_url: base, console_url: origin } = running.facts;
    for (let request = 0; request < REQUESTS; request += 1)
      await signedCall(base, filled.merchant, 'GET', `/api/v1/checkout/sessions/${filled.payment}`);
    const cookie = await signIn(origin);
    const measured: (readonly [string, Measured])[] = [];
    const pages = [...pagesOf(filled), ...(await madePages(folder, filled, running.facts, cookie))];
    const left = routesWithout(pages.map(([, path]) => path));
    if (left.length > 0) throw new Error(`these pages are not measured: ${left.join(', ')}`);
    for (const [page, path] of pages) measured.push([page, await measure(origin + path, cookie, pid)]);
    return sectionOf(measured, idleMs);
  } finally {
    if (running) await stop(running);
    await provider.close();
    if (KEPT === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** The payments, made unless the folder has them already. */
async function filledIn(folder: string): Promise<Filled> {
  const file = join(folder, 'filled.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Filled;
  mkdirSync(folder, { recursive: true });
  const dataDir = join(folder, 'data');
  const running = await startSandbox(folder, {}, START_MS);
  const merchant = await callAdmin(dataDir, 'merchant.create', { name: 'Bench', mode: 'test' });
  await stop(running);
  const filled = await fill(dataDir, merchant as unknown as Merchant);
  writeFileSync(file, JSON.stringify(filled));
  return filled;
}

/**
 * Until the service does little by itself: what was filled in beside it is new to it. Answers its processor time in a
 * second then, in milliseconds.
 */
async function calm(pid: number): Promise<number> {
  const endMs = Date.now() + LONGEST_CATCH_UP_MS;
  for (let before = cpuMsOf(pid); ; before = cpuMsOf(pid)) {
    await sleep(CALM_MS);
    const share = (cpuMsOf(pid) - before) / CALM_MS;
    if (share < CALM_SHARE) return share * 1_000;
    if (Date.now() > endMs) throw new Error('the service does not come to rest');
  }
}

function sectionOf(measured: readonly (readonly [string, Measured])[], idleMs: number): BenchSection {
  const shown = (value: number): string => value.toLocaleString('en');
  const isPage = (name: string): boolean => !/\((?:CSV|JSON)\)$/.test(name);
  const above = measured.filter(([name, { bytes, cpuMs }]) => isPage(name) && (bytes > MOST_BYTES || cpuMs > MOST_MS));
  const largest = Math.max(...measured.map(([, { bytes }]) => bytes));
  const slowest = Math.max(...measured.map(([, { cpuMs }]) => cpuMs));
  return {
    title: 'Console',
    intro:
      `Every kind of page of the console over HTTP, on the sandbox with its chains and one merchant with ${shown(SESSIONS)} payments over ${DAYS} days. One in ${PAID} is paid, the others have expired; one in ${DELIVERED} has a delivered webhook: ` +
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
    notes: [
      `The processor time includes what the sandbox does by itself, ${shown(Math.round(idleMs))} ms in a second before the first page.`,
      'Sweeps and balances show what the chains answered last; what is asked of them beside the page is in its processor time too.',
    ],
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
