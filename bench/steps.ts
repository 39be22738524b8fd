import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { sessionView } from '../projections/sessions/session-view.projection.ts';
import { serveSqliteReadModel } from '../src/adapters/sqlite/read-model/read-model.ts';
import { PROJECTIONS } from '../src/look-ups/projections.ts';
import type { Projection } from '../src/ports/read-model/projection.ts';
import { DEFAULT_SETTINGS, measureCreateSession, WHOLE_SERVICE } from './create-session.ts';
import { fill, rebuild } from './ledger.ts';
import { fullPhase, inWorld } from './payments.ts';
import { startQuittance } from './payments/service.ts';
import { clockUs, profiling, readProfile, sharesOf } from './profile.ts';
import type { BenchSection } from './section.ts';
import { spentUs, threadClocksUs } from './thread-clocks.ts';

/*
 * Where the CPU goes: the jobs whose goals are about it once more, each with a profile of its threads. A thread's clock
 * says how much it took, its profile in which shares.
 */

/** The threads that leave a profile, and its name. */
const PROFILES: Readonly<Record<string, string>> = {
  'main thread': 'main',
  ...Object.fromEntries(['projections', 'commits', 'audit', 'addresses'].map((name) => [name, name])),
};
const LEAST_SHARE = 0.005;
const CREATE_ROUNDS = 2;
const REBUILT_EVENTS = 60_000;

type CpuUs = readonly (readonly [thread: string, us: number])[];
type Row = readonly [thread: string, step: string, us: number];
type Clock = readonly [fromUs: number, toUs: number];

const inFolder = async <Result>(work: (folder: string) => Promise<Result>): Promise<Result> => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-steps-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const stepsOf = (folder: string, cpuUs: CpuUs, clock: Clock): Row[] =>
  cpuUs.flatMap(([thread, us]): Row[] =>
    PROFILES[thread] === undefined
      ? [[thread, '', us]]
      : sharesOf(readProfile(folder, PROFILES[thread]), clock).map(([step, share]) => [thread, step, share * us]),
  );

const payment = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const { cpuUs, clockUs: clock } = await inWorld(
      (...world) => startQuittance(...world, profiling(folder)),
      fullPhase,
    );
    return stepsOf(folder, cpuUs, clock);
  });

const create = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const startedUs = clockUs();
    const candidate = { ...WHOLE_SERVICE, env: profiling(folder) };
    const [row] = await measureCreateSession([candidate], { ...DEFAULT_SETTINGS, rounds: CREATE_ROUNDS });
    // In the first half the service starts and warms up.
    const endedUs = clockUs();
    return stepsOf(folder, row!.cpuUs!, [(startedUs + endedUs) / 2, endedUs]);
  });

/** In this thread. */
async function rebuilt(dataDir: string, projections: readonly Projection[]): Promise<Row[]> {
  const own = mkdtempSync(join(dataDir, 'rows-'));
  const { port1, port2 } = new MessageChannel();
  const readModel = serveSqliteReadModel({ dataDir: own, port: port1 });
  const inspector = new Session();
  inspector.connect();
  await inspector.post('Profiler.enable');
  await inspector.post('Profiler.start');
  const before = threadClocksUs(process.pid)!;
  const startedUs = clockUs();
  await rebuild(dataDir, readModel, projections);
  const clock = [startedUs, clockUs()] as const;
  const cpuUs = spentUs(before, threadClocksUs(process.pid)!, REBUILT_EVENTS);
  const { profile } = await inspector.post('Profiler.stop');
  inspector.disconnect();
  await readModel.close();
  port1.close();
  port2.close();
  const { samples = [], timeDeltas = [] } = profile;
  return cpuUs.flatMap(([thread, us]): Row[] =>
    thread === 'main thread'
      ? sharesOf({ ...profile, samples, timeDeltas }, clock).map(([step, share]) => [thread, step, share * us])
      : [[thread, '', us]],
  );
}

function rowsOf(job: string, steps: readonly Row[]): string[][] {
  const own = steps.filter(([thread]) => !thread.startsWith('v8:Prof'));
  const sum = own.reduce((total, [, , us]) => total + us, 0);
  const row = (thread: string, step: string, us: number): string[] => [
    job,
    thread,
    step,
    us.toFixed(us < 10 ? 2 : 0),
    `${((us / sum) * 100).toFixed(1)} %`,
  ];
  return [row('all', '', sum), ...own.filter(([, , us]) => us >= sum * LEAST_SHARE).map((step) => row(...step))];
}

export async function benchSteps(): Promise<BenchSection> {
  const rows = [...rowsOf('payment', await payment()), ...rowsOf('create', await create())];
  await inFolder(async (folder) => {
    await fill(folder, REBUILT_EVENTS);
    rows.push(...rowsOf('rebuild of the session look-ups', await rebuilt(folder, [sessionView])));
    rows.push(...rowsOf('rebuild of all look-ups', await rebuilt(folder, PROJECTIONS)));
  });
  return {
    title: 'Where the CPU goes',
    intro:
      'The jobs whose goals are about CPU, once more with a profile of each thread: one payment from its create to its webhook, one durable create, one event of a rebuild. ' +
      "A thread's clock says how much CPU it took, the profile in which shares; what libraries and Node do belongs to the place of ours that called them, as far as there is one.",
    columns: ['job', 'thread', 'step', 'µs', 'share'],
    rows,
  };
}
