import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { load, signedCreate, type BenchKey } from './create-session/load.ts';
import { median, renderSection, type BenchSection } from './section.ts';

/*
 * What traces cost: the whole service with them off, off once more (so that the noise shows), and on, sending to a
 * receiver.
 */

const ROUNDS = 5;
const REQUESTS = 1_000;
const CONNECTIONS = 16;
const TICKS_A_SECOND = 100;
const SERVER = new URL('./create-session/quittance.server.ts', import.meta.url);

interface Candidate {
  readonly name: string;
  readonly child: ChildProcess;
  readonly port: number;
  /** Microseconds of CPU a request, round by round. */
  readonly cpuUs: number[];
}

/** User and system time of all threads of a process, in seconds (proc(5), fields 14 and 15 of `stat`). */
function cpuSecOf(pid: number): number {
  const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

async function start(name: string, key: BenchKey, env: Readonly<Record<string, string>> = {}): Promise<Candidate> {
  const child = fork(SERVER, {
    env: { ...process.env, NODE_ENV: 'production', BENCH_API_KEY: key.apiKey, BENCH_API_SECRET: key.secret, ...env },
  });
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${name} did not start`))),
  ])) as [{ port: number }];
  return { name, child, port: message.port, cpuUs: [] };
}

async function round({ port, child, cpuUs }: Candidate, key: BenchKey, counts: boolean): Promise<void> {
  const requests = Array.from({ length: REQUESTS }, () => signedCreate(key));
  const beforeSec = cpuSecOf(child.pid!);
  const { statuses } = await load(port, requests, CONNECTIONS);
  if (statuses['200'] !== REQUESTS) throw new Error(`answered ${JSON.stringify(statuses)}`);
  // Projections and the last spans end shortly after the last answer.
  await new Promise((done) => setTimeout(done, 1_000));
  if (counts) cpuUs.push(((cpuSecOf(child.pid!) - beforeSec) / REQUESTS) * 1e6);
}

/** CPU time of a durable create with traces off and on; Linux only, since it is read from `/proc`. */
export async function benchTracing(): Promise<BenchSection> {
  let received = 0;
  const receiver = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (received += chunk.length)).on('end', () => response.end('{}'));
  });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  const endpoint = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const key: BenchKey = {
    apiKey: `sk_test_${randomBytes(24).toString('hex')}`,
    secret: randomBytes(32).toString('hex'),
  };
  const candidates = [
    await start('traces off', key),
    await start('traces off, once more', key),
    await start('traces on, every span sent over OTLP', key, { BENCH_OTLP: endpoint }),
  ];
  try {
    // Odd rounds go backwards, so that nobody always comes first; the first only warms the compiler up.
    for (let turn = -1; turn < ROUNDS; turn += 1) {
      for (const candidate of turn % 2 === 0 ? candidates : candidates.toReversed())
        await round(candidate, key, turn >= 0);
    }
  } finally {
    for (const { child } of candidates) child.disconnect();
    receiver.closeAllConnections();
    receiver.close();
  }
  if (received === 0) throw new Error('no span was sent');
  const base = candidates[0]!.cpuUs;
  return {
    title: 'Tracing',
    intro: `CPU time of a durable create, of all threads of the service, with \`OTEL_EXPORTER_OTLP_ENDPOINT\` unset and set. The three take turns in one run of ${ROUNDS} rounds of ${REQUESTS} requests; the ratio is the median of the ratios within a round.`,
    columns: ['service', 'CPU a create (µs)', 'ratio'],
    rows: candidates.map(({ name, cpuUs }) => [
      name,
      Math.round(median(cpuUs)),
      median(cpuUs.map((value, turn) => value / base[turn]!)).toFixed(2),
    ]),
    notes: [
      'The second row is the same service again: what it differs from 1.00 is noise. Unset, no module of OpenTelemetry is loaded and nothing is wrapped.',
    ],
  };
}

if (import.meta.main) process.stdout.write(`${renderSection(await benchTracing())}\n`);
