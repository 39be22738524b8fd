import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Unfixed } from './unfixed-fault.ts';

/** What came of the search for one fault. */
export interface Measured {
  readonly outcome: 'found' | 'not found' | 'fails without it, too';
  /** The promise that was broken first. */
  readonly by: string | null;
  /** The number of the plan among those of the fault's name; null when nothing was found. */
  readonly plan: number | null;
  readonly runs: number;
  readonly cpuSec: number;
}

interface Failure {
  readonly file: string;
  readonly seed: string;
  readonly violation: string;
}

interface Simulated {
  readonly failure: Failure | null;
  readonly runs: number;
  readonly cpuSec: number;
}

const ROOT = resolve(import.meta.dirname, '../../..');
const PLANT = ['--import', './test/simulation/unfixed/plant.mjs'];

/** Plans of the fault's name one after the other, until one breaks a promise or the time of one core is over. */
export function search(fault: Unfixed, budgetSec: number): Measured {
  let [first, runs, cpuSec] = [0, 0, 0];
  let other: Measured | null = null;
  while (cpuSec < budgetSec) {
    const minutes = ((budgetSec - cpuSec) / 60).toFixed(3);
    const tried = inDirectory((directory) => {
      const one = simulate(directory, fault.name, [...whereOf(fault), '--first', String(first), '--minutes', minutes]);
      return { ...one, sameWithout: one.failure !== null && simulate(directory, null, ['--replay', one.failure.file]) };
    });
    runs += tried.runs;
    cpuSec = Math.round(cpuSec + tried.cpuSec);
    if (!tried.failure) break;
    const plan = first + tried.runs - 1;
    const measured = { by: tried.failure.violation, plan, runs, cpuSec };
    if (tried.sameWithout && !tried.sameWithout.failure) return { outcome: 'found', ...measured };
    other ??= { outcome: 'fails without it, too', ...measured };
    first = plan + 1;
  }
  return other ?? { outcome: 'not found', by: null, plan: null, runs, cpuSec };
}

/** The plan that found it, once more: what is broken with the fault, and nothing without it. */
export function again(fault: Unfixed, { plan }: Measured): { readonly isFound: boolean; readonly cpuSec: number } {
  return inDirectory((directory) => {
    const one = simulate(directory, fault.name, [...whereOf(fault), '--first', String(plan)]);
    const without = one.failure && simulate(directory, null, ['--replay', one.failure.file]);
    return { isFound: without !== null && without.failure === null, cpuSec: one.cpuSec };
  });
}

const whereOf = ({ name, where }: Unfixed): readonly string[] => ['--seed', name, ...where];

function inDirectory<Value>(work: (directory: string) => Value): Value {
  const directory = mkdtempSync(join(tmpdir(), 'quittance-unfixed-'));
  try {
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Throws when the program did not get to its end, as when a fault ends every start of the service. */
function simulate(directory: string, fault: string | null, options: readonly string[]): Simulated {
  const program = ['test/simulation/main.ts', '--no-shrink', '--directory', directory, ...options];
  const { stdout, stderr, signal } = spawnSync(process.execPath, [...(fault === null ? [] : PLANT), ...program], {
    ...{ cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 30 },
    env: { ...process.env, ...(fault !== null && { UNFIX: fault }) },
  });
  const [, runs, cpuSec, failures] = /^(\d+) runs, .* in (\d+) s of CPU: .*?, (\d+) failed/m.exec(stdout) ?? [];
  if (runs === undefined) throw new Error(`it ended early (${signal ?? 'by itself'}): ${stderr}${stdout.slice(-500)}`);
  return { failure: failureIn(directory, stdout, Number(failures)), runs: Number(runs), cpuSec: Number(cpuSec) };
}

function failureIn(directory: string, stdout: string, failures: number): Failure | null {
  if (failures === 0) return null;
  const [name] = readdirSync(directory);
  if (name === undefined) throw new Error(`a plan failed and was not written: ${stdout.slice(-500)}`);
  const file = join(directory, name);
  const { violations, plan } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly violations: readonly string[];
    readonly plan: { readonly seed: string };
  };
  return { file, seed: plan.seed, violation: violations[0]! };
}
