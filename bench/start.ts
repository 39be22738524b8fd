import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rssMib, treeClocksUs, treeOf, treeRssMib } from './payments/processes.ts';
import { startSandbox, stop } from './payments/service.ts';
import { median, type BenchSection } from './section.ts';
import { threadClocksUs } from './thread-clocks.ts';

/* The sandbox with its own chains: until it takes requests, and what it takes while nothing happens. */

const LATER_STARTS = 3;
const SETTLED_MS = 20_000;
const IDLE_MS = 30_000;
/** Chains of others; Surfpool is a library that a small script of ours loads. */
const FOREIGN = new Set(['anvil', 'surfpool/child.ts']);

interface Start {
  readonly seconds: number;
  readonly cpuSec: number;
}

const totalSec = (clocks: ReadonlyMap<string, number>): number =>
  [...clocks.values()].reduce((sum, us) => sum + us, 0) / 1e6;

async function timedStart(
  folder: string,
): Promise<Start & { readonly pid: number; readonly end: () => Promise<void> }> {
  const startedMs = performance.now();
  const running = await startSandbox(folder);
  const seconds = (performance.now() - startedMs) / 1_000;
  const pid = running.child.pid!;
  return { seconds, cpuSec: totalSec(treeClocksUs(pid)), pid, end: () => stop(running) };
}

/** Seconds of CPU so far: of all processes, and of the service without those it started. */
const spentSec = (pid: number): { readonly all: number; readonly service: number } => ({
  all: totalSec(treeClocksUs(pid)),
  service: totalSec(threadClocksUs(pid)!),
});

/** A script with its folder, or a program. */
function nameOf(pid: number): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  const script = words.find((word, index) => index > 0 && /\.[mc]?[jt]s$/.test(word));
  return script?.split('/').slice(-2).join('/') ?? basename(words[0]!);
}

const percent = (before: number, after: number): string =>
  `${(((after - before) / (IDLE_MS / 1_000)) * 100).toFixed(1)} % of a core`;

export async function benchStart(): Promise<BenchSection> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-start-'));
  try {
    const first = await timedStart(folder);
    await first.end();
    const later: Start[] = [];
    for (let start = 1; start < LATER_STARTS; start += 1) {
      const running = await timedStart(folder);
      later.push(running);
      await running.end();
    }
    const last = await timedStart(folder);
    later.push(last);
    await sleep(SETTLED_MS);
    const idleFrom = spentSec(last.pid);
    await sleep(IDLE_MS);
    const idleTo = spentSec(last.pid);
    const memory = { all: treeRssMib(last.pid), service: rssMib(last.pid) };
    const processes = treeOf(last.pid).map((pid) => ({ name: nameOf(pid), mib: rssMib(pid) }));
    const byProcess = processes.map(({ name, mib }) => `${name} ${mib.toFixed(0)}`);
    const foreignMib = processes.filter(({ name }) => FOREIGN.has(name)).reduce((total, { mib }) => total + mib, 0);
    await last.end();
    const seconds = (value: number): string => value.toFixed(2);
    const startSec = median(later.map((start) => start.seconds));
    const mib = (value: number): string => `${value.toFixed(0)} MiB`;
    return {
      title: 'Start, and doing nothing',
      intro:
        'The sandbox as `npm start` runs it: the service, its signer and four local chains. CPU is of all of their processes until requests are taken; ' +
        'memory counts pages that processes share once for each.',
      columns: ['what', 'by the clock, s', 'CPU, s'],
      rows: [
        ['first start', seconds(first.seconds), seconds(first.cpuSec)],
        [
          `later starts, median of ${LATER_STARTS}`,
          seconds(startSec),
          seconds(median(later.map((start) => start.cpuSec))),
        ],
      ],
      notes: [
        `While nothing happens: all processes ${percent(idleFrom.all, idleTo.all)} and ${mib(memory.all)}, of which the service itself ` +
          `${percent(idleFrom.service, idleTo.service)} and ${mib(memory.service)}.`,
        `Memory by process, MiB: ${byProcess.join(', ')}.`,
        'The start with many sessions is in "Growth".',
      ],
      goals: [
        {
          goal: 'The sandbox is ready in 2 s',
          measured: `${seconds(startSec)} s`,
          holds: startSec <= 2,
          needed:
            'A start loads modules (a third of that is stripping types), opens six threads and starts four chains. It would take compiled modules',
        },
        {
          goal: 'An idle sandbox takes below 3 % of a core',
          measured: `${percent(idleFrom.all, idleTo.all)}, the service itself ${percent(idleFrom.service, idleTo.service)}`,
          holds: (idleTo.all - idleFrom.all) / (IDLE_MS / 1_000) < 0.03,
          needed:
            'Requests to the four chains, their answers and the garbage of both; Surfpool takes a third of it. It would take chains that stand still while nothing happens, but payment deadlines are judged by block time',
        },
        {
          goal: 'An idle sandbox takes at most 250 MB in all',
          measured: `${mib(memory.all)}, the service itself ${mib(memory.service)}`,
          holds: memory.all * 1.048_576 <= 250,
          needed: `${mib(foreignMib)} are programs of others (Anvil, Surfpool); each process of ours is a Node of its own. It would take fewer processes and fewer threads in the service`,
        },
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
