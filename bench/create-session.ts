import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { helloRequest, load, signedCreate, type BenchKey, type LoadResult } from './create-session/load.ts';

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
}

export interface CreateSessionSettings {
  readonly rounds: number;
  readonly requestsPerRound: number;
  readonly connections: number;
}

export const DEFAULT_SETTINGS: CreateSessionSettings = { rounds: 5, requestsPerRound: 20_000, connections: 32 };

const server = (name: string): URL => new URL(`./create-session/${name}.server.ts`, import.meta.url);

export const BASELINES: readonly CreateSessionCandidate[] = [
  { name: 'express: same signature check and zod parse, stores nothing', module: server('express-signed'), request: 'create' },
  { name: 'express: hello', module: server('express-hello'), request: 'hello' },
];
const HTTP_LAYER: CreateSessionCandidate = { name: 'Quittance, HTTP layer over memory', module: server('quittance-http'), request: 'create' };

/** Requests per second and p99 of create-session, candidates alternating round by round; the median of each counts. */
export async function measureCreateSession(
  candidates: readonly CreateSessionCandidate[],
  settings: CreateSessionSettings = DEFAULT_SETTINGS,
): Promise<CreateSessionRow[]> {
  const key: BenchKey = { apiKey: `sk_test_${randomBytes(24).toString('hex')}`, secret: randomBytes(32).toString('hex') };
  const running = await Promise.all(candidates.map((candidate) => startServer(candidate, key)));
  try {
    const results: LoadResult[][] = candidates.map(() => []);
    for (let round = -1; round < settings.rounds; round += 1) {
      for (const [index, candidate] of candidates.entries()) {
        const result = await oneRound(candidate, running[index]!.port, key, settings);
        // The first round only warms the compiler up.
        if (round >= 0) results[index]!.push(result);
      }
    }
    return rowsOf(candidates, results);
  } finally {
    for (const { child } of running) child.disconnect();
  }
}

async function oneRound(candidate: CreateSessionCandidate, port: number, key: BenchKey, settings: CreateSessionSettings): Promise<LoadResult> {
  const makeRequest = candidate.request === 'hello' ? helloRequest : () => signedCreate(key);
  const requests = Array.from({ length: settings.requestsPerRound }, makeRequest);
  const result = await load(port, requests, settings.connections);
  if (result.statuses['200'] !== settings.requestsPerRound) throw new Error(`${candidate.name} answered ${JSON.stringify(result.statuses)}`);
  return result;
}

async function startServer(candidate: CreateSessionCandidate, key: BenchKey): Promise<{ child: ChildProcess; port: number }> {
  const env = { ...process.env, NODE_ENV: 'production', BENCH_API_KEY: key.apiKey, BENCH_API_SECRET: key.secret, ...candidate.env };
  const child = fork(candidate.module, { env, execArgv: candidate.env?.BENCH_EXEC_ARGV?.split(' ') ?? [] });
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${candidate.name} did not start`))),
  ])) as [{ port: number }];
  return { child, port: message.port };
}

function rowsOf(candidates: readonly CreateSessionCandidate[], results: readonly LoadResult[][]): CreateSessionRow[] {
  const median = (values: number[]): number => values.sort((one, other) => one - other)[Math.floor(values.length / 2)]!;
  const rates = results.map((rounds) => median(rounds.map((round) => round.requestsPerSec)));
  return candidates.map((candidate, index) => ({
    name: candidate.name,
    requestsPerSec: rates[index]!,
    p50Ms: median(results[index]!.map((round) => round.p50Ms)),
    p99Ms: median(results[index]!.map((round) => round.p99Ms)),
    ratio: rates[index]! / rates[0]!,
  }));
}

export function createSessionTable(rows: readonly CreateSessionRow[]): string {
  const lines = rows.map(
    (row) => `| ${row.name} | ${Math.round(row.requestsPerSec)} | ${row.p50Ms.toFixed(2)} | ${row.p99Ms.toFixed(2)} | ${row.ratio.toFixed(2)} |`,
  );
  return ['| create-session | req/s | p50 ms | p99 ms | ratio |', '|---|---|---|---|---|', ...lines].join('\n');
}

if (import.meta.main) {
  const rounds = Number(process.env.BENCH_ROUNDS ?? DEFAULT_SETTINGS.rounds);
  const rows = await measureCreateSession([...BASELINES, HTTP_LAYER], { ...DEFAULT_SETTINGS, rounds });
  process.stdout.write(`${createSessionTable(rows)}\n`);
}
