import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeSection } from './report.ts';
import { renderSection, type BenchSection } from './section.ts';

/*
 * `npm run bench [-- name ...]`: runs benches, each in a process of its own, and writes their sections to
 * `docs/benchmarks.md`. A bench is a file `bench/<name>.ts` that exports a function whose name begins with `bench`.
 * Without names those of the goals run, for 15 minutes at most.
 */

const FOLDER = import.meta.dirname;
/** The benches of the goals and the seconds that each takes on two quiet cores: less than 15 minutes together. */
const USUAL_SEC: ReadonlyMap<string, number> = new Map([
  ['create-session', 65],
  ['payments', 175],
  ['ledger', 60],
  ['lists', 80],
  ['webhooks', 40],
  ['appends', 35],
  ['event-store', 60],
  ['matching', 15],
  ['busy-address', 110],
  ['start', 60],
  ['steps', 100],
  // The last, since it measures as many sizes as there is time for.
  ['growth', 150],
]);
/** A busy machine may take longer, but a bench that hangs must not take the time of all others. */
const MOST_TIMES_USUAL = 2;
const WHOLE_RUN_SEC = 900;

type Bench = () => Promise<BenchSection> | BenchSection;

async function benchOf(name: string): Promise<Bench> {
  const exports = (await import(pathToFileURL(join(FOLDER, `${name}.ts`)).href)) as Record<string, unknown>;
  const bench = Object.entries(exports).find(([key]) => /^bench[A-Z]/.test(key))?.[1];
  if (typeof bench !== 'function') throw new Error(`no such bench: ${name}`);
  return bench as Bench;
}

/** The child's part: run one bench and leave its section in a file. */
async function runOne(name: string, output: string): Promise<void> {
  const bench = await benchOf(name);
  writeFileSync(output, renderSection(await bench()));
  process.exit(0);
}

/** Ends the bench with all that it started when its time is over. */
async function runInChild(name: string, output: string, limitSec: number): Promise<string> {
  const child = spawn(process.execPath, ['--expose-gc', join(FOLDER, 'main.ts'), '--one', name, output], {
    env: { ...process.env, ...(Number.isFinite(limitSec) && { BENCH_SECONDS: String(limitSec) }) },
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  const kill = (): void => void process.kill(-child.pid!, 'SIGKILL');
  const limit = Number.isFinite(limitSec) ? setTimeout(kill, limitSec * 1_000) : undefined;
  const interrupted = (): void => (kill(), process.exit(1));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(limit);
  process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  if (code !== 0) throw new Error(`${name} ${code === null ? `was ended after ${limitSec} s` : `failed with ${code}`}`);
  return readFileSync(output, 'utf8');
}

async function runAll(named: readonly string[]): Promise<void> {
  const files = readdirSync(FOLDER);
  const unknown = named.filter((name) => !files.includes(`${name}.ts`));
  if (unknown.length > 0) throw new Error(`no such bench: ${unknown.join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'));
  const failures: string[] = [];
  const begunMs = performance.now();
  for (const name of named.length > 0 ? named : USUAL_SEC.keys()) {
    const [before] = loadavg();
    const startedMs = performance.now();
    try {
      const leftSec = WHOLE_RUN_SEC - Number(secondsSince(begunMs));
      const limitSec = named.length > 0 ? Infinity : Math.min(leftSec, USUAL_SEC.get(name)! * MOST_TIMES_USUAL);
      const text = await runInChild(name, join(folder, `${name}.md`), limitSec);
      const circumstances =
        `Ended at ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC after ${secondsSince(startedMs)} s; ` +
        `load of the machine before and after: ${before!.toFixed(1)}, ${loadavg()[0]!.toFixed(1)}.`;
      console.log(`\n${text}\n\n${circumstances}`);
      writeSection(name, text.replace('\n', `\n\n${circumstances}\n`));
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  rmSync(folder, { recursive: true, force: true });
  console.log(`\nAll sections: ${secondsSince(begunMs)} s.`);
  for (const failure of failures) console.error(failure);
  if (failures.length > 0) process.exitCode = 1;
}

const secondsSince = (startedMs: number): string => ((performance.now() - startedMs) / 1_000).toFixed(0);

const args = process.argv.slice(2);
if (args[0] === '--one') await runOne(args[1]!, args[2]!);
else await runAll(args);
