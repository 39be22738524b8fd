import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChainReport } from './payments/chain.process.ts';
import { ask, bytesOf, startHelper, treeClocksUs, treeRssMib, type Helper } from './payments/processes.ts';
import type { Received } from './payments/receiver.process.ts';
import { startLean, startQuittance, stop, type AttachedChain, type Candidate } from './payments/service.ts';
import { Shop, type ShopChain } from './payments/shop.ts';
import { clockUs } from './profile.ts';
import { percentile, type BenchSection, type Goal } from './section.ts';
import { spentUs } from './thread-clocks.ts';

/* The main job: sessions created, paid, credited, listed and told by webhook, against the service as a process. */

const MERCHANTS = 16;
/** Twelve confirmations of a second each: fewer would be the limit, not the candidate. */
const WINDOW = 10_000;
const SECONDS = Number(process.env.BENCH_PAYMENTS_SECONDS ?? 14);
const GOAL_A_SECOND = 150;
const BURST = 5_000;
/** The first thousands of payments compile the service: they say nothing of those after them. */
const WARM_UP_SECONDS = 8;
const METRICS_EVERY_MS = 2_000;
const MOST_CPU_MS = 3;
/** What the sandbox sets for its chains. */
const LOOK_EVERY_MS = 500;
const ATTEMPTED_MS = 250;

const CHAINS = [
  { network: 'bsc', chainId: '31338', token: `0x${'b5'.repeat(20)}`, finalizedDepth: 2, creditedDepth: 2 },
  { network: 'ethereum', chainId: '31337', token: `0x${'e7'.repeat(20)}`, finalizedDepth: 20, creditedDepth: 11 },
] as const;
const QUEUES = [
  'quittance_webhook_queue_deliveries',
  'quittance_webhook_attempts_in_flight',
  'quittance_subscription_lag_events',
  'quittance_projection_lag_events',
  'quittance_chain_unsettled_deposits',
] as const;

interface Phase {
  readonly perSecond: number;
  readonly payments: number;
  readonly cpuUs: readonly (readonly [string, number])[];
  readonly latenciesMs: readonly number[];
  readonly queues: Readonly<Record<string, number>>;
  readonly rssMib: readonly number[];
  /** From its beginning to its end. */
  readonly clockUs: readonly [number, number];
}

export interface World {
  readonly candidate: Candidate;
  readonly shop: Shop;
  readonly chains: readonly ShopChain[];
  readonly receiver: Helper;
}

interface Measured {
  readonly full: Phase;
  readonly paced: Phase;
  readonly burst: Phase & { readonly seconds: number; readonly longestLookGapMs: number };
  readonly bytes: { readonly log: number; readonly lookUps: number };
  readonly calls: Readonly<Record<string, number>>;
  readonly payments: number;
}

type Start = (
  folder: string,
  chains: readonly AttachedChain[],
  receiverUrl: string,
  merchants: number,
) => Promise<Candidate>;

/** Does work in a world of its own: a receiver, chains, and a candidate that was used for a moment. */
export async function inWorld<Result>(start: Start, work: (world: World) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-payments-'));
  const receiver = await startHelper('receiver');
  const chains = await Promise.all(
    CHAINS.map(async (rules) => ({
      network: rules.network,
      chain: await startHelper('chain', [JSON.stringify(rules)]),
    })),
  );
  const attached = CHAINS.map(({ network, chainId, token, creditedDepth }, at) => ({
    network,
    chainId,
    token,
    creditedDepth,
    url: chains[at]!.chain.url,
  }));
  let candidate: Candidate | undefined;
  try {
    candidate = await start(folder, attached, receiver.url, MERCHANTS);
    receiver.child.send({ secrets: candidate.webhookSecrets });
    const shop = new Shop(candidate.baseUrl, candidate.merchants, chains, receiver);
    await shop.run({ seconds: WARM_UP_SECONDS, perSecond: Infinity, window: WINDOW });
    const result = await work({ candidate, shop, chains, receiver });
    await shop.close();
    return result;
  } catch (error) {
    const log = join(folder, 'service.log');
    throw new Error(
      `${(error as Error).message}\n${readFileSync(log, { encoding: 'utf8', flag: 'a+' }).slice(-2_000)}`,
      { cause: error },
    );
  } finally {
    if (candidate) await stop(candidate);
    for (const helper of [receiver, ...chains.map(({ chain }) => chain)]) helper.child.disconnect();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As many payments as the candidate takes. */
export const fullPhase = (world: World): Promise<Phase> =>
  phase(world, () => world.shop.run({ seconds: SECONDS, perSecond: Infinity, window: WINDOW }));

/** Everything that is measured of one candidate. */
async function measurePayments(world: World): Promise<Measured> {
  const { candidate, shop, chains } = world;
  const bytesBefore = bytesOf(candidate.dataDir);
  const warmUp = shop.paid.length;
  const full = await fullPhase(world);
  const perSecond = Math.min(GOAL_A_SECOND, full.perSecond * 0.7);
  const paced = await phase(world, () => shop.run({ seconds: SECONDS, perSecond, window: WINDOW }));
  const burst = await burstPhase(world);
  const payments = shop.paid.length - warmUp;
  await expectAll(world);
  const bytesAfter = bytesOf(candidate.dataDir);
  const bytes = {
    log: (bytesAfter.log - bytesBefore.log) / payments,
    lookUps: (bytesAfter.lookUps - bytesBefore.lookUps) / payments,
  };
  return { full, paced, burst, bytes, calls: await callsOf(chains, shop.paid.length), payments };
}

/** Runs a part of the load and reads everything about it. */
async function phase(world: World, run: () => Promise<number>): Promise<Phase> {
  const { candidate, shop } = world;
  const pid = candidate.child.pid!;
  const from = shop.paid.length;
  const queues: Record<string, number> = {};
  const rssMib: number[] = [];
  const watching = setInterval(() => {
    rssMib.push(treeRssMib(pid));
    if (candidate.opsUrl !== null) void readQueues(candidate.opsUrl, queues);
  }, METRICS_EVERY_MS);
  const startedUs = clockUs();
  const before = treeClocksUs(pid);
  const payments = await run();
  await sleep(1_000);
  const cpuUs = spentUs(before, treeClocksUs(pid), payments);
  clearInterval(watching);
  const clock = [startedUs, clockUs()] as const;
  const byChain = await deliveries(world, shop.paid.slice(from));
  return {
    perSecond: byChain.reduce((total, ofChain) => total + perSecondOf(ofChain), 0),
    payments,
    cpuUs,
    latenciesMs: byChain.flat().map(({ finalMs, paidMs }) => paidMs - finalMs),
    queues,
    rssMib,
    clockUs: clock,
  };
}

async function burstPhase(world: World): Promise<Measured['burst']> {
  const { shop, chains } = world;
  const from = shop.paid.length;
  let seconds = 0;
  const measured = await phase(world, async () => {
    await shop.burst(BURST);
    const [inBlock] = await deliveries(world, shop.paid.slice(from));
    seconds = (Math.max(...inBlock!.map(({ paidMs }) => paidMs)) - inBlock![0]!.finalMs) / 1_000;
    return BURST;
  });
  const { longestLookGapMs } = await ask<ChainReport>(chains[0]!.chain, 'report');
  return { ...measured, seconds, longestLookGapMs };
}

/** When the block came by which a payment counts, and when its first webhook. */
interface Delivered {
  readonly finalMs: number;
  readonly paidMs: number;
}

/** The payments of each chain. */
async function deliveries({ chains, receiver }: World, sessions: readonly string[]): Promise<Delivered[][]> {
  const reports = await Promise.all(chains.map(({ chain }) => ask<ChainReport>(chain, 'report')));
  const { paidMs } = await ask<Received>(receiver, 'report');
  return reports.map(({ creditableMs }) =>
    sessions
      .filter((id) => creditableMs[id] !== undefined)
      .map((id) => ({ finalMs: creditableMs[id]!, paidMs: paidMs[id]! })),
  );
}

/** From the first webhook to the last: a chain's confirmations come before, and delay all alike. */
function perSecondOf(delivered: readonly Delivered[]): number {
  const times = delivered.map(({ paidMs }) => paidMs);
  return delivered.length < 2 ? 0 : ((delivered.length - 1) * 1_000) / (Math.max(...times) - Math.min(...times));
}

/** Nothing is left out, told twice or told wrongly, and the lists hold all. */
async function expectAll({ shop, receiver }: World): Promise<void> {
  const { paidMs, refused } = await ask<Received>(receiver, 'report');
  const missing = shop.paid.filter((id) => paidMs[id] === undefined);
  if (missing.length > 0 || refused > 0)
    throw new Error(`${missing.length} webhooks did not come, ${refused} had a wrong signature`);
  for (let looks = 0; (await shop.allListed()) !== shop.paid.length; looks += 1) {
    if (looks === 50) throw new Error(`${await shop.allListed()} of ${shop.paid.length} sessions are listed as paid`);
    await sleep(100);
  }
}

async function callsOf(chains: readonly ShopChain[], payments: number): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { chain } of chains)
    for (const [method, count] of Object.entries((await ask<ChainReport>(chain, 'report')).calls))
      sums[method] = (sums[method] ?? 0) + count / payments;
  return sums;
}

/**
 * The highest of each queue so far; series of one name are added up. A service that is busy or ending answers the next
 * time.
 */
async function readQueues(opsUrl: string, queues: Record<string, number>): Promise<void> {
  const text = await fetch(`${opsUrl}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  for (const name of QUEUES) {
    const values = text.split('\n').filter((line) => line.startsWith(name));
    const sum = values.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
    queues[name] = Math.max(queues[name] ?? 0, sum);
  }
}

const sum = (cpuUs: Phase['cpuUs']): number => cpuUs.reduce((total, [, us]) => total + us, 0);
const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
const ms = (us: number): string => (us / 1000).toFixed(2);
const byThread = ({ cpuUs }: Phase): string =>
  cpuUs
    .filter(([, us]) => us >= 10)
    .map(([name, us]) => `${name} ${ms(us)}`)
    .join(', ');
const within = ({ latenciesMs }: Phase): number =>
  latenciesMs.filter((latencyMs) => latencyMs <= ATTEMPTED_MS).length / latenciesMs.length;

function rowsOf(ours: Measured, lean: Measured): string[][] {
  const row = (what: string, of: (measured: Measured) => number, shown: (value: number) => string): string[] => [
    what,
    shown(of(ours)),
    shown(of(lean)),
    (of(ours) / of(lean)).toFixed(2),
  ];
  const plain = (what: string, of: (measured: Measured) => string): string[] => [what, of(ours), of(lean), ''];
  return [
    row(
      'sustained payments a second, as many as it takes',
      ({ full }) => full.perSecond,
      (value) => value.toFixed(0),
    ),
    row('CPU of a payment then, all threads, ms', ({ full }) => sum(full.cpuUs), ms),
    plain('payments a second, paced', ({ paced }) => paced.perSecond.toFixed(0)),
    row('CPU of a payment then, ms', ({ paced }) => sum(paced.cpuUs), ms),
    row('from the final block to the webhook, p50, ms', ({ paced }) => percentile(paced.latenciesMs, 0.5), whole),
    row('the same, p99, ms', ({ paced }) => percentile(paced.latenciesMs, 0.99), whole),
    plain(
      `webhooks within ${ATTEMPTED_MS} ms of the final block`,
      ({ paced }) => `${(within(paced) * 100).toFixed(1)} %`,
    ),
    row(`${whole(BURST)} payments in one block: CPU of a payment, ms`, ({ burst }) => sum(burst.cpuUs), ms),
    row(
      'the same: seconds from the final block to the last webhook',
      ({ burst }) => burst.seconds,
      (value) => value.toFixed(1),
    ),
    plain('the same: longest time without a look at the head, ms', ({ burst }) => whole(burst.longestLookGapMs)),
    plain('bytes in the log a payment', ({ bytes }) => whole(bytes.log)),
    plain('bytes in the look-ups a payment', ({ bytes }) => whole(bytes.lookUps)),
    plain('requests to the chains a payment', ({ calls }) =>
      Object.values(calls)
        .reduce((total, count) => total + count, 0)
        .toFixed(2),
    ),
    plain(
      'memory at the start and the end of the paced payments, MiB',
      ({ paced: { rssMib } }) => `${whole(rssMib[0]!)}, ${whole(rssMib.at(-1)!)}`,
    ),
  ];
}

function goalsOf({ full, paced, burst }: Measured, lean: Measured): Goal[] {
  const goal = (text: string, measured: string, holds: boolean, needed = ''): Goal => ({
    goal: text,
    measured,
    holds,
    needed,
    job: 'payment',
  });
  const cpuMs = sum(full.cpuUs) / 1_000;
  const half = full.perSecond / lean.full.perSecond;
  const growth = paced.rssMib.at(-1)! / paced.rssMib[0]!;
  const gapMs = burst.longestLookGapMs;
  return [
    goal(
      `${GOAL_A_SECOND} payments a second, from the create to the webhook`,
      `${whole(full.perSecond)} a second`,
      full.perSecond >= GOAL_A_SECOND,
    ),
    goal(`At most ${MOST_CPU_MS} ms of CPU a payment`, `${cpuMs.toFixed(2)} ms`, cpuMs <= MOST_CPU_MS),
    goal(
      'At least half of the rate of the least code over the same store',
      half.toFixed(2),
      half >= 0.5,
      'The least code keeps no look-ups and proves nothing. It would take fewer rows a payment: a deposit is kept in five tables, a session in four',
    ),
    goal(
      `99 of 100 webhooks attempted within ${ATTEMPTED_MS} ms of the final block`,
      `${(within(paced) * 100).toFixed(1)} of 100`,
      within(paced) >= 0.99,
    ),
    goal(
      `${whole(BURST)} payments in one block, no look at the head missed (looks every ${LOOK_EVERY_MS} ms)`,
      `longest time without a look ${whole(gapMs)} ms`,
      gapMs < 2 * LOOK_EVERY_MS,
      'A watcher looks at the head again once the deposits of the last block are recorded. Looks would have to go on beside the recording',
    ),
    goal('Memory is flat under load (at most 1.1)', growth.toFixed(2), growth <= 1.1),
  ];
}

/** The main job as one figure, beside the least code that does the same. */
export async function benchPayments(): Promise<BenchSection> {
  const lean = await inWorld(startLean, measurePayments);
  const ours = await inWorld(startQuittance, measurePayments);
  const queues = Object.entries(ours.full.queues).map(
    ([name, most]) => `${name.replace('quittance_', '')} ${whole(most)}`,
  );
  return {
    title: 'Payments, end to end',
    intro:
      'Sessions created by signed requests against the service as a process (`quittance sandbox start`, embedded, everything on, logs too, and durable), paid on two ' +
      'stand-in chains that serve real JSON-RPC, credited, listed, and told to a receiver that verifies every signature. Load, chains and receiver share the ' +
      'machine. Beside it the least code that does these steps over the same store. Payments count on Ethereum after 12 confirmations and on BSC by its ' +
      'finality; both make a block a second.',
    columns: ['what', 'Quittance', 'least code', 'ratio'],
    rows: rowsOf(ours, lean),
    notes: [
      `CPU of a payment by thread, in ms, as many as it takes: ${byThread(ours.full)}.`,
      `The same in the burst: ${byThread(ours.burst)}.`,
      `Longest queues, as many as it takes: ${queues.join(', ')}.`,
      `${whole(ours.payments)} payments: every webhook came, none with a wrong signature, and the lists held them all.`,
    ],
    goals: goalsOf(ours, lean),
    sources: [
      {
        caption: 'The least code',
        code: readFileSync(join(import.meta.dirname, 'payments', 'lean.process.ts'), 'utf8'),
      },
    ],
  };
}
