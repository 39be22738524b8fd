import { rmSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { brotliCompressSync } from 'node:zlib';
import { SESSIONS_TABLE } from '../projections/sessions/session-row.ts';
import { listRecords } from '../src/composition/list-records.ts';
import { deepLinks } from '../src/checkout/deep-links.ts';
import type { ConsoleDeps } from '../src/console/deps.ts';
import type { SessionEvent } from '../src/domain/events/session-events.ts';
import { sessionTable } from '../src/features/shared/handlers/session-handler.ts';
import type { MerchantApi } from '../src/features/shared/merchant-api.ts';
import { Lists } from '../src/features/sessions/lists.ts';
import { paymentTotals } from '../src/features/sessions/payment-totals.ts';
import { sessionView } from '../src/features/sessions/view.ts';
import { paymentTotalsCommands } from '../src/operator/payment-totals.ts';
import type { ReadModel } from '../src/ports/read-model.ts';
import { ConsoleWorld, SHOP, type TestPerson } from '../test/support/console-world.ts';
import { createdOf, fill, FIRST_SEC, MERCHANT, PER_SECOND, SESSIONS } from './lists.ts';
import { median, percentile, type BenchSection } from './section.ts';

/*
 * Pages of the console for a merchant with a million payments: bytes, and the server's time from the request to the
 * whole answer.
 */

const ROUNDS = 40;
const WARM_UP = 5;
const LAST_SEC = FIRST_SEC + Math.ceil(SESSIONS / PER_SECOND);

/** Each payment is folded from its event, as the service folds it; the event comes from memory. */
const apiOf = (model: ReadModel): Pick<MerchantApi, 'getSession'> => ({
  getSession: async (_reader, id) => {
    const row = await model.get(SESSIONS_TABLE, id);
    if (row === null) return null;
    const data = { ...createdOf((row.createdAtSec - FIRST_SEC) * PER_SECOND), sessionId: id, orderId: row.orderId };
    const created = JSON.parse(JSON.stringify({ type: 'SessionCreated', data })) as SessionEvent;
    return { ...sessionView(sessionTable.replay([created]), null), status: row.status };
  },
});

async function open(model: ReadModel): Promise<ConsoleWorld> {
  const lists = new Lists({ readModel: model, cursorKey: Buffer.alloc(32, 7), metadataIndex: null });
  const records = listRecords({
    api: apiOf(model) as MerchantApi,
    lists,
    presenter: { publicUrl: 'https://pay.example', networks: () => [], deepLinks },
    networks: () => [],
    confirmationsOf: () => 0,
    servedRows: () => Promise.resolve(),
  });
  const list: ConsoleDeps['records']['list'] = (kind, _reader, asked) =>
    records.list(kind, { merchantId: MERCHANT, mode: 'test' }, asked);
  const none = { sessionOfAddress: () => null, claims: async () => [], waitingClaims: async () => [] };
  const totals = paymentTotalsCommands({
    totals: (_owner, asked) =>
      paymentTotals({ readModel: model, lists }, { merchantId: MERCHANT, mode: 'test' }, asked),
    modeOfMerchant: () => 'test',
  });
  const world = await ConsoleWorld.start({
    records: { ...none, list } as unknown as ConsoleDeps['records'],
    commands: totals,
  });
  world.nowMs = LAST_SEC * 1000;
  return world;
}

interface Measured {
  readonly bytes: number;
  readonly sent: number;
  readonly wallMs: readonly number[];
  readonly cpuMs: readonly number[];
}

async function measure(world: ConsoleWorld, person: TestPerson, path: string): Promise<Measured> {
  const wallMs: number[] = [];
  const cpuMs: number[] = [];
  let body = '';
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const cpu = process.cpuUsage();
    const startedMs = performance.now();
    const answer = await world.get(path, person);
    const tookMs = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpu);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
    body = answer.body;
    if (round < 0) continue;
    wallMs.push(tookMs);
    cpuMs.push((user + system) / 1000);
  }
  return { bytes: Buffer.byteLength(body), sent: brotliCompressSync(body).length, wallMs, cpuMs };
}

/** The newest page, and from it one that is `share` of all payments deeper, by the day that they were created. */
const deepPath = (share: number): string => {
  const day = new Date((LAST_SEC - (LAST_SEC - FIRST_SEC) * share) * 1000).toISOString().slice(0, 10);
  return `/m/${SHOP.id}/payments?to=${day}`;
};

/** Also the section of `npm run bench`. */
export async function benchConsole(): Promise<BenchSection> {
  const { model, table, dataDir } = await fill();
  const world = await open(model);
  try {
    const person = await world.person('Ada', { role: 'support', merchantId: SHOP.id });
    const first = (await world.get(`/m/${SHOP.id}/payments`, person)).body;
    const total = /([\d]+) payments/.exec(first)?.[1];
    if (Number(total) !== SESSIONS) throw new Error(`the list says ${total} payments`);
    const next = /href="([^"]*cursor=[^"]+)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const paths: [string, string][] = [
      ['home of the merchant, with 14 days as a chart', `/m/${SHOP.id}`],
      ['payments, the newest 50', `/m/${SHOP.id}/payments`],
      ['payments, the next 50', next],
      ['paid payments', `/m/${SHOP.id}/payments?status=paid`],
      ['payments up to the middle of the time', deepPath(0.5)],
      ['payments up to the first days', deepPath(0.9)],
    ];
    const rows: (string | number)[][] = [];
    for (const [name, path] of paths) {
      const { bytes, sent, wallMs, cpuMs } = await measure(world, person, path);
      const ms = (all: readonly number[], share: number): string => percentile(all, share).toFixed(1);
      rows.push([
        name,
        bytes.toLocaleString('en'),
        sent.toLocaleString('en'),
        ms(wallMs, 0.5),
        ms(wallMs, 0.95),
        median(cpuMs).toFixed(1),
      ]);
    }
    return {
      title: 'Console',
      intro:
        `Pages of the console for one merchant with ${SESSIONS.toLocaleString('en')} payments in the read model on disk: bytes before and after compression, and the server's time for a ` +
        `request over HTTP with everything that the console checks, ${ROUNDS} each. Payments are folded from events in memory.`,
      columns: ['page', 'bytes', 'compressed', 'p50 ms', 'p95 ms', 'CPU ms, median'],
      rows,
      notes: ['The promise: every page below 100 KB and 100 ms.'],
    };
  } finally {
    await world.close();
    await model.close();
    table.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
