import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { randomBytes } from 'node:crypto';
import { placesOfSession, sessionChanges } from '../projections/sessions/session-list.ts';
import type { SessionRow } from '../projections/sessions/session-row.ts';
import { count, TOTALS_TABLE, totalsKey, type DayTotals } from '../projections/sessions/payment-totals.ts';
import { settle, sessionRowOf } from '../projections/sessions/session-fold.ts';
import { openSqliteReadModel } from '../src/adapters/sqlite/read-model/read-model.ts';
import type { EventOf } from '../src/domain/events/domain-event.ts';
import { base32, type MerchantId, type SessionId } from '../src/domain/values/ids.ts';
import type { Network } from '../src/domain/networks/networks.ts';
import { putRow, type Change, type ReadModel } from '../src/ports/read-model/read-model.ts';
import { Lists } from '../src/features/sessions/lists/lists.ts';
import type { Listing, ListQuery, PagePagination } from '../src/features/shared/list-page.ts';
import type { SessionFilters } from '../src/features/sessions/lists/filters.ts';
import { median, percentile, type BenchSection } from './section.ts';

/*
 * Pages of 20 sessions of one merchant who has many: from the read model, with totals and rows read and parsed,
 * against the usual OFFSET and COUNT over a plain indexed table of the same rows in the same file system.
 */

const SESSIONS = Number(process.env['BENCH_LIST_SESSIONS'] ?? 300_000);
const ROUNDS = 3;
const ROUND_MS = 400;
const PAGE_SIZE = 20;
const FILL_BATCH = 5_000;
const GOAL_A_SECOND = 10_000;
const MERCHANT = 'mer_abcdefghij2345672345' as MerchantId;
const FIRST_SEC = 1_800_000_000;
const PER_SECOND = 5;
const NETWORKS: readonly Network[] = ['ethereum', 'bsc', 'tron', 'solana'];

const POOL_CHARS = 1_000_000;
const pool = randomBytes(POOL_CHARS / 2).toString('hex');
/** A piece of the pool: random bytes for each of millions of rows would take half of the time to fill. */
function hex(bytes: number): string {
  const at = Math.floor(Math.random() * (POOL_CHARS - 2 * bytes));
  return pool.slice(at, at + 2 * bytes);
}
const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(Math.random() * values.length)]!;

/** A session of usual size with four networks on offer. */
function createdOf(order: number): EventOf<'SessionCreated'>['data'] {
  const createdAtSec = FIRST_SEC + Math.floor(order / PER_SECOND);
  const evm = `0x${hex(20)}`;
  const option = { coin: 'USDT', tokenAddress: `0x${'a'.repeat(40)}`, decimals: 6, derivationIndex: order } as const;
  return {
    sessionId: `cs_${base32(randomBytes(20))}` as SessionId,
    mode: 'test',
    merchantId: MERCHANT,
    orderId: `order-${order}`,
    requestHash: '',
    amount: '10.50',
    currency: 'USD',
    dueCoin: 'USDT',
    dueAmount: '10.51',
    rateLock: { rate: '1.0002', lockedAtSec: createdAtSec, rule: 'median-1', quotes: [] },
    taxAmount: null,
    shippingAmount: null,
    createdAtSec,
    expiresAtSec: createdAtSec + 1800,
    paymentOptions: [
      {
        network: 'ethereum',
        chainId: '31337',
        address: evm,
        ...option,
        finality: { kind: 'confirmations', confirmations: 12 },
      },
      { network: 'bsc', chainId: '31338', address: evm, ...option, finality: { kind: 'finalized' } },
      { network: 'tron', chainId: '1', address: `T${hex(16)}`, ...option, finality: { kind: 'finalized' } },
      {
        network: 'solana',
        chainId: 'genesis',
        address: hex(22),
        ...option,
        finality: { kind: 'finalized' },
        tokenAccount: hex(22),
        reference: hex(22),
      },
    ],
    policy: { tolerance: '0.00', dustLimit: '0.01' },
    domainId: null,
    personal: `v1.1a2b3c4d.${hex(8)}.${hex(100)}`,
  };
}

/** Seven of ten are paid, the others expired or open. */
function newRow(order: number): SessionRow {
  const created = createdOf(order);
  const { createdAtSec } = created;
  const row = sessionRowOf(created, { order, listedSec: createdAtSec });
  const chance = Math.random();
  if (chance < 0.7)
    return settle({
      ...row,
      status: 'paid',
      received: '10.51',
      refundable: '10.51',
      paidAtSec: createdAtSec + 90,
      arrivedOn: { [pick(NETWORKS)]: 1 },
      transactions: 1,
    });
  return settle({ ...row, status: chance < 0.95 ? 'expired' : 'open' });
}

interface Filled {
  readonly model: ReadModel;
  readonly table: DatabaseSync;
  readonly dataDir: string;
}

async function fill(): Promise<Filled> {
  const dataDir = mkdtempSync(join(process.cwd(), '.bench-lists-'));
  const model = await openSqliteReadModel({ dataDir });
  const table = new DatabaseSync(join(dataDir, 'plain.db'));
  table.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE sessions (id INTEGER PRIMARY KEY, merchant TEXT, status TEXT, network TEXT, row TEXT);
    CREATE INDEX by_merchant ON sessions (merchant, id);
    CREATE INDEX by_filters ON sessions (merchant, status, network, id);`);
  const insert = table.prepare('INSERT INTO sessions (merchant, status, network, row) VALUES (?, ?, ?, ?)');
  const totals = new TotalsByDay();
  for (let from = 0; from < SESSIONS; from += FILL_BATCH) {
    const rows = Array.from({ length: Math.min(FILL_BATCH, SESSIONS - from) }, (_, index) => newRow(from + index));
    const applied = model.apply('session-view@1', [...rows.flatMap(changesOf), ...totals.with(rows)], String(from));
    table.exec('BEGIN');
    for (const row of rows)
      insert.run(MERCHANT, row.status, Object.keys(row.arrivedOn)[0] ?? null, JSON.stringify(row));
    table.exec('COMMIT');
    await applied;
    if (from % 100_000 === 0) process.stderr.write(`\rfilling: ${from}`);
  }
  process.stderr.write('\n');
  return { model, table, dataDir };
}

interface Candidate {
  readonly name: string;
  readonly page: () => Promise<number> | number;
}

const cursorKey = randomBytes(32);

interface Filter {
  readonly title: string;
  readonly filters: SessionFilters;
  /** The same for the plain table. */
  readonly where: string;
}

const FILTERS: readonly Filter[] = [
  { title: 'no filter', filters: {}, where: 'merchant = ?' },
  {
    title: 'status and network',
    filters: { status: 'paid', network: 'tron' },
    where: "merchant = ? AND status = 'paid' AND network = 'tron'",
  },
];

async function ours(lists: Lists, { title, filters }: Filter, range: SessionFilters = {}): Promise<Candidate[]> {
  const list = async (paging: ListQuery<SessionFilters>['paging']): Promise<Listing<SessionRow>> => {
    const result = await lists.listSessions({
      merchantId: MERCHANT,
      mode: 'test',
      filters: { ...filters, ...range },
      paging,
    });
    if (!result.ok) throw new Error(result.refusal.message);
    return result.value;
  };
  const { pagination } = await list({ page: 1, pageSize: PAGE_SIZE });
  const pages = Math.max(2, Math.floor((pagination as PagePagination).total / PAGE_SIZE));
  const last = (await list({ page: pages - 1, pageSize: PAGE_SIZE })).pagination.next_cursor ?? '';
  const rows = async (paging: ListQuery<SessionFilters>['paging']): Promise<number> => (await list(paging)).rows.length;
  return [
    { name: `${title}: page 1 with total`, page: () => rows({ page: 1, pageSize: PAGE_SIZE }) },
    {
      name: `${title}: random page with total`,
      page: () => rows({ page: 1 + Math.floor(Math.random() * pages), pageSize: PAGE_SIZE }),
    },
    { name: `${title}: last page by cursor`, page: () => rows({ cursor: last, pageSize: PAGE_SIZE }) },
  ];
}

function plain(table: DatabaseSync, { title, where }: Filter): Candidate[] {
  const count = table.prepare(`SELECT COUNT(*) AS total FROM sessions WHERE ${where}`);
  const page = table.prepare(`SELECT row FROM sessions WHERE ${where} ORDER BY id DESC LIMIT ${PAGE_SIZE} OFFSET ?`);
  const { total } = count.get(MERCHANT) as { total: number };
  const read = (offset: number): number =>
    page.all(MERCHANT, offset).map((found) => JSON.parse((found as { row: string }).row) as SessionRow).length;
  return [
    { name: `${title}: OFFSET 0, no total`, page: () => read(0) },
    { name: `${title}: OFFSET 0 and COUNT`, page: () => (count.get(MERCHANT), read(0)) },
    {
      name: `${title}: random OFFSET and COUNT`,
      page: () => (count.get(MERCHANT), read(Math.floor(Math.random() * (total - PAGE_SIZE)))),
    },
  ];
}

/** As the projection keeps them, across batches. */
class TotalsByDay {
  readonly #days = new Map<string, DayTotals>();

  with(rows: readonly SessionRow[]): Change[] {
    const keys = new Set<string>();
    for (const row of rows) {
      const key = totalsKey(row);
      keys.add(key);
      this.#days.set(key, count(this.#days.get(key) ?? {}, row, 1));
    }
    return [...keys].map((key) => putRow(TOTALS_TABLE, key, this.#days.get(key)!));
  }
}

/** As the projection's batch makes them. */
function changesOf(row: SessionRow): Change[] {
  const places = placesOfSession(row).map((place) => ({ op: 'enlist', member: row.sessionId, ...place }) as const);
  return [...sessionChanges(null, row), ...places];
}

/** One round: as many pages as fit, each timed. */
async function measure({ name, page }: Candidate): Promise<number[]> {
  const latencies: number[] = [];
  const untilMs = performance.now() + ROUND_MS;
  for (let startedMs = performance.now(); startedMs < untilMs;) {
    const found = await page();
    if (found !== PAGE_SIZE && !name.includes('last')) throw new Error(`${name}: a page of ${found}`);
    const endedMs = performance.now();
    latencies.push(endedMs - startedMs);
    startedMs = endedMs;
  }
  return latencies;
}

const perSec = (latencies: readonly number[]): number =>
  (latencies.length * 1000) / latencies.reduce((sum, ms) => sum + ms, 0);

/** The table of list pages; also the section of `npm run bench`. */
export async function benchLists(): Promise<BenchSection> {
  const { model, table, dataDir } = await fill();
  try {
    const lists = new Lists({ readModel: model, cursorKey, metadataIndex: null });
    const span = SESSIONS / PER_SECOND;
    const range = { createdFrom: FIRST_SEC + Math.floor(span * 0.2), createdTo: FIRST_SEC + Math.floor(span * 0.6) };
    const candidates: Candidate[] = [];
    for (const filter of FILTERS) candidates.push(...(await ours(lists, filter)), ...plain(table, filter));
    candidates.push(...(await ours(lists, { ...FILTERS[1]!, title: 'status, network and created range' }, range)));
    const rounds = new Map<string, number[][]>(candidates.map(({ name }) => [name, []]));
    for (let round = -1; round < ROUNDS; round += 1) {
      for (const candidate of candidates) {
        const latencies = await measure(candidate);
        if (round >= 0) rounds.get(candidate.name)!.push(latencies);
      }
    }
    return sectionOf(rounds);
  } finally {
    await model.close();
    table.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function sectionOf(rounds: ReadonlyMap<string, readonly number[][]>): BenchSection {
  const baseline = median(rounds.get('no filter: OFFSET 0, no total')!.map(perSec));
  const slowest = [...rounds]
    .filter(([name]) => !name.includes('OFFSET'))
    .map(([name, latencies]) => [name, median(latencies.map(perSec))] as const)
    .reduce((one, other) => (other[1] < one[1] ? other : one));
  const rows = [...rounds].map(([name, latencies]) => {
    const rate = median(latencies.map(perSec));
    const ms = (share: number): string => percentile(latencies.flat(), share).toFixed(3);
    return [name, Math.round(rate), `${(rate / baseline).toFixed(2)} x`, ms(0.5), ms(0.99)];
  });
  return {
    title: 'Lists',
    intro:
      `Pages of ${PAGE_SIZE} sessions per second, of one merchant with ${SESSIONS.toLocaleString('en')}: one caller, one thread, rows read and parsed. ` +
      `OFFSET and COUNT run over a plain table of the same rows with an index for each question. Median of ${ROUNDS} alternating rounds.`,
    columns: ['page', 'pages/s', 'ratio', 'p50 ms', 'p99 ms'],
    rows,
    notes: [
      '`BENCH_LIST_SESSIONS=1000000 npm run bench -- lists` measures a million, which takes minutes to fill.',
      'Totals, depth and filters do not change the cost of a page; an OFFSET or a COUNT grows with what it steps over.',
    ],
    goals: [
      {
        goal: `Every page of many sessions, ${GOAL_A_SECOND.toLocaleString('en')} a second`,
        measured: `slowest of ${SESSIONS.toLocaleString('en')}: ${Math.round(slowest[1]).toLocaleString('en')} (${slowest[0]})`,
        holds: slowest[1] >= GOAL_A_SECOND,
        needed:
          'A random page reads 20 rows by their ids from all over the file, where the first page reads the same 20 again and again. The rows would have to lie in the order of the list',
      },
    ],
  };
}
