import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { helloRequest, load, signedCreate, type BenchKey, type LoadResult } from './create-session/load.ts';
import { median, type BenchSection, type Goal } from './section.ts';
import { spentUs, threadClocksUs } from './thread-clocks.ts';

/** A server to measure: a module that announces its port over IPC (see `create-session/announce.ts`). */
export interface CreateSessionCandidate {
  readonly name: string;
  readonly module: URL;
  readonly request: 'hello' | 'create';
  readonly env?: Readonly<Record<string, string>>;
}

export interface CreateSessionRow {
  readonly name: string;
  readonly requestsPerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Requests per second over the first candidate's, both medians of one run. */
  readonly ratio: number;
  /** CPU microseconds a request by thread, what followed the answers included; null where the system does not tell. */
  readonly cpuUs: readonly (readonly [string, number])[] | null;
}

export interface CreateSessionSettings {
  readonly rounds: number;
  readonly requestsPerRound: number;
  readonly connections: number;
}

export const DEFAULT_SETTINGS: CreateSessionSettings = { rounds: 4, requestsPerRound: 10_000, connections: 32 };

const FOLLOWERS_MS = 5_000;
const MOST_CPU = 3;
const MOST_P99 = 3;

const server = (name: string): URL => new URL(`./create-session/${name}.server.ts`, import.meta.url);

export const BASELINES: readonly CreateSessionCandidate[] = [
  {
    name: 'express: same signature check and zod parse, stores nothing',
    module: server('express-signed'),
    request: 'create',
  },
  { name: 'express: hello', module: server('express-hello'), request: 'hello' },
];
export const WHOLE_SERVICE: CreateSessionCandidate = {
  name: 'Quittance, whole and durable',
  module: server('quittance'),
  request: 'create',
};
const HTTP_LAYER: CreateSessionCandidate = {
  name: 'Quittance, HTTP layer over memory',
  module: server('quittance-http'),
  request: 'create',
};

/** Requests per second and p99 of create-session, candidates alternating round by round; the median of each counts. */
export async function measureCreateSession(
  candidates: readonly CreateSessionCandidate[],
  settings: CreateSessionSettings,
): Promise<CreateSessionRow[]> {
  const key: BenchKey = {
    apiKey: `sk_test_${randomBytes(24).toString('hex')}`,
    secret: randomBytes(32).toString('hex'),
  };
  const running = await Promise.all(candidates.map((candidate) => startServer(candidate, key)));
  try {
    const results: LoadResult[][] = candidates.map(() => []);
    const clocks = (): (ReadonlyMap<string, number> | null)[] => running.map(({ child }) => threadClocksUs(child.pid!));
    let before = clocks();
    for (let round = -1; round < settings.rounds; round += 1) {
      for (const [index, candidate] of candidates.entries()) {
        const result = await oneRound(candidate, running[index]!.port, key, settings);
        // The first round only warms the compiler up.
        if (round >= 0) results[index]!.push(result);
      }
      if (round < 0) before = await afterFollowers(clocks);
    }
    const after = await afterFollowers(clocks);
    const requests = settings.rounds * settings.requestsPerRound;
    const cpuUs = candidates.map((_, index) =>
      before[index] && after[index] ? spentUs(before[index], after[index], requests) : null,
    );
    return rowsOf(candidates, results, cpuUs);
  } finally {
    await Promise.all(
      running.map(({ child }) => {
        const ended = once(child, 'exit');
        child.disconnect();
        return ended;
      }),
    );
  }
}

/** What follows the answers, such as the look-ups, is part of the work. */
async function afterFollowers<Value>(read: () => Value): Promise<Value> {
  await new Promise((done) => setTimeout(done, FOLLOWERS_MS));
  return read();
}

async function oneRound(
  candidate: CreateSessionCandidate,
  port: number,
  key: BenchKey,
  settings: CreateSessionSettings,
): Promise<LoadResult> {
  const makeRequest = candidate.request === 'hello' ? helloRequest : () => signedCreate(key);
  const requests = Array.from({ length: settings.requestsPerRound }, makeRequest);
  const result = await load(port, requests, settings.connections);
  if (result.statuses['200'] !== settings.requestsPerRound)
    throw new Error(`${candidate.name} answered ${JSON.stringify(result.statuses)}`);
  return result;
}

async function startServer(
  candidate: CreateSessionCandidate,
  key: BenchKey,
): Promise<{ child: ChildProcess; port: number }> {
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    BENCH_API_KEY: key.apiKey,
    BENCH_API_SECRET: key.secret,
    ...candidate.env,
  };
  const child = fork(candidate.module, { env, execArgv: [] });
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${candidate.name} did not start`))),
  ])) as [{ port: number }];
  return { child, port: message.port };
}

function rowsOf(
  candidates: readonly CreateSessionCandidate[],
  results: readonly LoadResult[][],
  cpuUs: readonly CreateSessionRow['cpuUs'][],
): CreateSessionRow[] {
  const rates = results.map((rounds) => median(rounds.map((round) => round.requestsPerSec)));
  return candidates.map((candidate, index) => ({
    name: candidate.name,
    requestsPerSec: rates[index]!,
    p50Ms: median(results[index]!.map((round) => round.p50Ms)),
    p99Ms: median(results[index]!.map((round) => round.p99Ms)),
    ratio: rates[index]! / rates[0]!,
    cpuUs: cpuUs[index]!,
  }));
}

const totalUs = ({ cpuUs }: CreateSessionRow): number => (cpuUs ?? []).reduce((sum, [, us]) => sum + us, 0);

/** Threads that take less are named together. */
const LEAST_SHOWN_US = 2;

function threadNotes(whole: CreateSessionRow | undefined): string[] {
  if (!whole?.cpuUs) return [];
  const shown = whole.cpuUs.filter(([, us]) => us >= LEAST_SHOWN_US);
  const rest = whole.cpuUs.filter(([, us]) => us < LEAST_SHOWN_US).reduce((sum, [, us]) => sum + us, 0);
  const parts = [...shown, ['the rest', rest] as const].map(([name, us]) => `${name} ${us.toFixed(0)}`);
  return [
    `CPU of a durable create by thread, in microseconds, read from the system's thread clocks: ${parts.join(', ')}.`,
  ];
}

function goalsOf(rows: readonly CreateSessionRow[]): Goal[] {
  const [express, whole] = [BASELINES[0]!, WHOLE_SERVICE].map((of) => rows.find(({ name }) => name === of.name)!);
  const cpu = totalUs(whole!) / totalUs(express!);
  const p99 = whole!.p99Ms / express!.p99Ms;
  return [
    {
      goal: `A durable create takes at most ${MOST_CPU} times the CPU of plain express with the same checks (200 µs where that takes 67)`,
      measured: `${cpu.toFixed(1)} times: ${totalUs(whole!).toFixed(0)} µs against ${totalUs(express!).toFixed(0)}`,
      holds: cpu <= MOST_CPU,
      job: 'create',
      needed:
        'HTTP alone takes as much as plain express. The rest would need fewer rows a session and addresses that are derived when somebody asks for them',
    },
    {
      goal: `Its p99 is within ${MOST_P99} times that of plain express`,
      measured: `${p99.toFixed(1)} times`,
      holds: p99 <= MOST_P99,
      needed: 'The processor is the limit, not the disk: p99 follows the CPU of a create',
    },
  ];
}

/** Durable create-session against a plain express app that does the same checks and stores nothing. */
export async function benchCreateSession(): Promise<BenchSection> {
  const candidates = [...BASELINES, WHOLE_SERVICE, HTTP_LAYER];
  const rows = await measureCreateSession(candidates, {
    ...DEFAULT_SETTINGS,
    rounds: Number(process.env.BENCH_ROUNDS ?? DEFAULT_SETTINGS.rounds),
  });
  return {
    title: 'Create payment session',
    intro: `Signed requests over ${DEFAULT_SETTINGS.connections} kept-alive connections, sent by another process, each with its own nonce and order; the servers take turns in one run and the median of the rounds counts. Quittance answers after its event was synced to disk, with rate limit, nonce persistence, projections, webhooks and metrics on.`,
    columns: ['server', 'req/s', 'ratio', 'p50 ms', 'p99 ms', 'CPU µs/req'],
    rows: rows.map((row) => [
      row.name,
      Math.round(row.requestsPerSec),
      row.ratio.toFixed(2),
      row.p50Ms.toFixed(2),
      row.p99Ms.toFixed(2),
      totalUs(row).toFixed(0),
    ]),
    notes: [
      'The last row is the HTTP layer alone, over a command side in memory: what is between it and the row above is the durable rest.',
      ...threadNotes(rows.find(({ name }) => name === WHOLE_SERVICE.name)),
    ],
    goals: goalsOf(rows),
    sources: BASELINES.map(({ name, module }) => ({ caption: name, code: readFileSync(module, 'utf8') })),
  };
}
