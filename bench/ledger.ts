import { hash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { sessionView } from '../projections/sessions/session-view.projection.ts';
import { openSqliteEventFollower } from '../src/adapters/sqlite/event-log/event-follower.ts';
import { openDatabase } from '../src/adapters/sqlite/database.ts';
import { EventReader } from '../src/adapters/sqlite/event-log/event-reader.ts';
import { eventsFile } from '../src/adapters/sqlite/event-log/event-schema.ts';
import { serveSqliteReadModel } from '../src/adapters/sqlite/read-model/read-model.ts';
import { PROJECTIONS } from '../src/look-ups/projections.ts';
import { openSqliteEventStore } from '../src/adapters/sqlite/event-log/event-store.ts';
import { dayOf, dayBefore } from '../src/domain/values/calendar.ts';
import type { DeliveryEvent } from '../src/domain/events/delivery-events.ts';
import type { SessionEvent } from '../src/domain/events/session-events.ts';
import { base32, type MerchantId, type Mode, type SessionId } from '../src/domain/values/ids.ts';
import type { Network } from '../src/domain/networks/networks.ts';
import { NOTIFYING_EVENTS } from '../src/features/shared/handlers/session-handler.ts';
import { sessionStream } from '../src/domain/values/streams.ts';
import type { EncodedEvent } from '../src/ports/event-log/event-store.ts';
import type { Projection } from '../src/ports/read-model/projection.ts';
import type { ReadModel } from '../src/ports/read-model/read-model.ts';
import { systemClock } from '../src/ports/clock.ts';
import { decodeData, encodeEvent } from '../src/runtime/commands/codec.ts';
import { NotificationIds } from '../src/runtime/commands/notification-ids.ts';
import { ProjectionRunner } from '../src/runtime/projections/runner.ts';
import { LedgerBalances, type TrialBalance } from '../src/features/ledger/balances.ts';
import { journalTable } from '../src/features/ledger/documents/journal.ts';
import { textOf } from '../src/features/ledger/documents/table.ts';
import { LedgerJournal } from '../src/features/ledger/journal.ts';
import type { BenchSection, Goal } from './section.ts';

/*
 * The books of many events: sessions of a hundred merchants on three networks over sixty days, each created, seen,
 * final and paid. They are kept anew from the log on disk into a read model on disk, then read and exported.
 */

const EVENTS = Number(process.env['BENCH_LEDGER_EVENTS'] ?? 400_000);
/** A folder for the log, which is made there unless it is there already; absent: one that goes with the run. */
const KEPT = process.env['BENCH_LEDGER_DIR'];
const EVENTS_PER_SESSION = 4;
const MERCHANTS = 100;
const DAYS = 60;
const FIRST_SEC = 1_798_761_600;
const IN_FLIGHT = 2_000;
const PAGE = 1_024;
const NETWORKS: readonly Network[] = ['ethereum', 'bsc', 'tron'];
/** The same in every run: a log that was kept can be read again. */
const MERCHANT_IDS = Array.from(
  { length: MERCHANTS },
  (_, index) => `mer_${base32(hash('sha256', String(index), 'buffer')).slice(0, 20)}` as MerchantId,
);

const hex = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`;

interface Place {
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly atSec: number;
  readonly blockNumber?: number;
}

const placeOf = (index: number): Place => ({
  merchantId: MERCHANT_IDS[index % MERCHANTS]!,
  mode: 'live',
  atSec: FIRST_SEC + Math.floor((index / (EVENTS / EVENTS_PER_SESSION)) * DAYS * 86_400),
});

export function sessionOf(
  index: number,
  { merchantId, mode, atSec, blockNumber = index }: Place = placeOf(index),
): { id: SessionId; atSec: number; events: readonly SessionEvent[] } {
  const id = `cs_${base32(randomBytes(20))}` as SessionId;
  const network = NETWORKS[index % NETWORKS.length]!;
  const [address, txHash, blockHash] = [hex(20), hex(32), hex(32)];
  const depositKey = `${network}:${txHash}:3`;
  const place = { blockNumber, blockHash, blockTimeSec: atSec + 30 };
  const option = {
    network,
    coin: 'USDT',
    tokenAddress: hex(20),
    decimals: 6,
    chainId: '1',
    address,
    derivationIndex: index,
    finality: { kind: 'finalized' },
  } as const;
  return {
    id,
    atSec,
    events: [
      {
        type: 'SessionCreated',
        data: {
          sessionId: id,
          mode,
          merchantId,
          orderId: `order-${index}`,
          requestHash: hex(32),
          amount: '12.50',
          currency: 'EUR',
          dueCoin: 'USDT',
          dueAmount: '13.50',
          taxAmount: null,
          shippingAmount: null,
          rateLock: { rate: '1.08', lockedAtSec: atSec, rule: 'median-1', quotes: [] },
          createdAtSec: atSec,
          expiresAtSec: atSec + 1800,
          paymentOptions: [option],
          domainId: null,
          personal: null,
          policy: { tolerance: '0', dustLimit: '0.01' },
        },
      },
      {
        type: 'DepositDetected',
        data: {
          depositKey,
          network,
          coin: 'USDT',
          tokenAddress: option.tokenAddress,
          amount: '13.50',
          fromAddress: hex(20),
          toAddress: address,
          txHash,
          ...{ logIndex: 3, ...place, kind: 'on_time' },
        },
      },
      {
        type: 'DepositConfirmed',
        data: { depositKey, rule: { kind: 'finalized' }, ...place, headNumber: blockNumber + 12 },
      },
      {
        type: 'SessionPaid',
        data: {
          coin: 'USDT',
          due: '13.50',
          received: '13.50',
          excess: '0.00',
          paidAtSec: atSec + 60,
          afterExpiry: false,
          valuation: { currency: 'EUR', coin: 'USDT', rate: '1.081', quotedAtMs: atSec * 1000 },
        },
      },
    ],
  };
}

export const expired = (expiredAtSec: number): SessionEvent => ({
  type: 'SessionExpired',
  data: { expiredAtSec, coin: 'USDT', received: '0', scannedToSec: {} },
});

const notificationIds = new NotificationIds(systemClock);

export function encoded(
  stream: string,
  atSec: number,
  events: readonly (DeliveryEvent | SessionEvent)[],
  idOf = (revision: number): string => `${stream}-${revision}`,
): EncodedEvent[] {
  let prev = '';
  return events.map((event, revision) => {
    const notificationId = NOTIFYING_EVENTS.has(event.type) ? notificationIds.next() : undefined;
    const metadata = { correlationId: hex(8), actor: 'bench', prev, notificationId };
    const one = encodeEvent({
      id: idOf(revision),
      stream,
      revision,
      atMs: (atSec + revision * 20) * 1000,
      event,
      metadata,
    });
    prev = one.hash;
    return one;
  });
}

export async function fill(dataDir: string, events = EVENTS): Promise<void> {
  const store = await openSqliteEventStore({ dataDir });
  const sessions = Math.floor(events / EVENTS_PER_SESSION);
  for (let first = 0; first < sessions; first += IN_FLIGHT) {
    const batch = Array.from({ length: Math.min(IN_FLIGHT, sessions - first) }, (_, index) => sessionOf(first + index));
    await Promise.all(
      batch.map(({ id, atSec, events }) =>
        store.append({
          stream: sessionStream(id),
          expected: 'no-stream',
          events: encoded(sessionStream(id), atSec, events),
        }),
      ),
    );
  }
  await store.close();
}

/** `cpuSeconds` are those of all threads of the process: what is left of a figure on a machine that others use. */
interface Timed<Value> {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly value: Value;
}

async function timed<Value>(work: () => Promise<Value>): Promise<Timed<Value>> {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - startedMs) / 1000, cpuSeconds: (user + system) / 1e6, value };
}

/** As the thread of the projections does it: one thread that reads, folds and writes. */
export async function rebuild(
  dataDir: string,
  readModel: ReadModel,
  projections: readonly Projection[],
): Promise<{ peakMiB: number }> {
  const follower = openSqliteEventFollower({ dataDir, onSubscriptionError: (_, error) => console.error(error) });
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let peak = 0;
  const runner = new ProjectionRunner({
    store: follower,
    readModel,
    projections,
    clock: { nowMs: () => Date.now() },
    maxBatch: 16_384,
    decode: decodeData,
    hooks: { onBatch: () => (peak = Math.max(peak, process.memoryUsage().rss - before)) },
  });
  await runner.start();
  await runner.ready();
  const parked = await runner.parked();
  if (parked.length > 0) throw new Error(`an event could not be taken: ${parked[0]!.error}`);
  await runner.stop();
  await follower.close();
  return { peakMiB: Math.round(peak / 2 ** 20) };
}

/** The least that a replay does. */
async function readThrough(dataDir: string): Promise<void> {
  const database = openDatabase(eventsFile(dataDir), { synchronous: 'FULL', readOnly: true });
  const reader = new EventReader(database, { lazily: true });
  const head = reader.tail().position;
  for (let after = 0; after < head;) {
    const { events, through } = reader.page(after, PAGE, undefined, head);
    for (const { data } of events) JSON.parse(data);
    after = through;
  }
  database.close();
}

/** A read model of its own, filled by one thread; `work` reads it afterwards. */
async function rebuilt<Value>(
  dataDir: string,
  projections: readonly Projection[],
  work: (readModel: ReadModel) => Promise<Value>,
): Promise<Timed<{ peakMiB: number }> & { readonly read: Value }> {
  const ownDir = mkdtempSync(join(dataDir, 'rows-'));
  const { port1, port2 } = new MessageChannel();
  const readModel = serveSqliteReadModel({ dataDir: ownDir, port: port1 });
  try {
    const filled = await timed(() => rebuild(dataDir, readModel, projections));
    return { ...filled, read: await work(readModel) };
  } finally {
    await readModel.close();
    port1.close();
    port2.close();
    rmSync(ownDir, { recursive: true, force: true });
  }
}

async function exported(journal: LedgerJournal): Promise<{ lines: number; peakMiB: number }> {
  let lines = 0;
  let peak = 0;
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  for await (const chunk of textOf(
    journalTable(journal, { mode: 'live', book: null, clock: 'recorded', from: null, to: null }),
    'csv',
  )) {
    lines += chunk.split('\n').length - 1;
    peak = Math.max(peak, process.memoryUsage().rss - before);
  }
  return { lines: lines - 1, peakMiB: Math.round(peak / 2 ** 20) };
}

function checked(trial: TrialBalance): TrialBalance {
  if (trial.balances.length === 0 || trial.sums.some(({ units }) => units !== 0n))
    throw new Error('the books do not balance');
  return trial;
}

const rounded = (value: number): string => (value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString('en-US'));

function rebuildGoal(what: string, goal: number, { cpuSeconds, value }: Timed<{ peakMiB: number }>): Goal {
  return {
    goal: `A rebuild of ${what} takes ${goal.toLocaleString('en-US')} events a second of CPU`,
    measured: `${rounded(EVENTS / cpuSeconds)} a second, memory +${value.peakMiB} MiB`,
    holds: EVENTS / cpuSeconds >= goal,
    job: `rebuild of ${what}`,
    needed: 'Fewer and smaller rows: rows without the names of their fields, one table for a deposit instead of five',
  };
}

export async function benchLedger(): Promise<BenchSection> {
  const dataDir = KEPT ?? mkdtempSync(join(tmpdir(), 'quittance-bench-ledger-'));
  try {
    if (!existsSync(eventsFile(dataDir))) await fill(dataDir);
    const nothing = async (): Promise<void> => undefined;
    const floor = await timed(() => readThrough(dataDir));
    const sessions = await rebuilt(dataDir, [sessionView], nothing);
    const all = await rebuilt(dataDir, PROJECTIONS, async (readModel) => {
      const balances = new LedgerBalances(readModel);
      const journal = new LedgerJournal(readModel);
      const day = dayBefore(dayOf(FIRST_SEC + (DAYS / 2) * 86_400));
      const now = await timed(async () =>
        checked(await balances.trialBalance('live', { day: null, clock: 'recorded' })),
      );
      const asOf = await timed(async () => checked(await balances.trialBalance('live', { day, clock: 'chain' })));
      const scope = { mode: 'live', book: MERCHANT_IDS[0]!, clock: 'chain', from: day, to: null } as const;
      const page = await timed(() => journal.page(scope, null, 100));
      const csv = await timed(() => exported(journal));
      return { now, asOf, page, csv };
    });
    const { now, asOf, page, csv } = all.read;
    const rate = (count: number, seconds: number): string => `${rounded(count / seconds)}/s`;
    const rebuildText = ({ seconds, cpuSeconds, value }: Timed<{ peakMiB: number }>): string =>
      `${rate(EVENTS, cpuSeconds)}: ${rounded(cpuSeconds)} s of processor time, ${rounded(seconds)} s by the clock, memory +${value.peakMiB} MiB at most`;
    return {
      title: 'The books',
      intro: `${EVENTS.toLocaleString('en-US')} events of ${MERCHANTS} merchants over ${DAYS} days, log and read model on disk; one thread reads, folds and writes. Rates of rebuilds are events for each second of processor time.`,
      columns: ['what', 'result'],
      rows: [
        [
          'reading the log and parsing its events, nothing else',
          `${rate(EVENTS, floor.cpuSeconds)}: ${rounded(floor.cpuSeconds)} s of processor time`,
        ],
        ['rebuild of the session look-ups', rebuildText(sessions)],
        [`rebuild of all ${PROJECTIONS.length} projections`, rebuildText(all)],
        [
          `trial balance now (${now.value.balances.length} balances of ${now.value.entries.toLocaleString('en-US')} entries)`,
          `${rounded(now.seconds * 1000)} ms`,
        ],
        ['trial balance at the end of a day in the middle, by chain time', `${rounded(asOf.seconds * 1000)} ms`],
        ["100 entries of one merchant's journal from that day on", `${rounded(page.seconds * 1000)} ms`],
        [
          `export of ${csv.value.lines.toLocaleString('en-US')} lines as CSV`,
          `${rounded(csv.seconds)} s, ${rate(csv.value.lines, csv.seconds)} lines; ${rounded(csv.cpuSeconds)} s of processor time, memory +${csv.value.peakMiB} MiB at most`,
        ],
      ],
      notes: ['Every trial balance is checked to be zero by coin and network.'],
      goals: [rebuildGoal('the session look-ups', 150_000, sessions), rebuildGoal('all look-ups', 40_000, all)],
    };
  } finally {
    if (KEPT === undefined) rmSync(dataDir, { recursive: true, force: true });
  }
}
