import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeSections } from './report.ts';
import { renderSection } from './section.ts';
import type { BenchSection } from './section.ts';

/*
 * `npm run bench [-- name ...]`: runs every `bench/<name>.ts`, each in a process of its own, and writes the answers to
 * `docs/benchmarks.md`. A bench exports a function, as default or under a name that begins with `bench`, and answers a
 * section; a file that only prints gets a section of what it printed; a file that does neither is a helper. With names
 * only those run, and only their sections are replaced. Without names all run but those that run by name only: 15 to
 * 20 minutes on two quiet cores.
 */

const FOLDER = import.meta.dirname;
/** They run when they are named: over millions of rows for minutes each, or of no use for the goals. */
const ONLY_BY_NAME = new Set([
  ...['address-memory', 'console', 'look-ups'],
  ...['live-pages', 'simulation', 'tracing', 'verify'],
]);
const NOT_BENCHES = new Set(['main.ts', 'report.ts', 'section.ts', 'peers.ts']);

type Bench = () => Promise<BenchSection | string> | BenchSection | string;

async function benchOf(file: string): Promise<Bench | null> {
  const exports = (await import(pathToFileURL(join(FOLDER, file)).href)) as Record<string, unknown>;
  const bench =
    exports['default'] ??
    Object.entries(exports).find(([name, value]) => /^bench[A-Z]/.test(name) && typeof value === 'function')?.[1];
  return typeof bench === 'function' ? (bench as Bench) : null;
}

/** The child's part: run one bench and leave its section in a file. */
async function runOne(file: string, output: string): Promise<void> {
  const bench = await benchOf(file);
  if (bench === null) return;
  const section = await bench();
  writeFileSync(output, typeof section === 'string' ? section : renderSection(section));
  process.exit(0);
}

async function runInChild(file: string, folder: string): Promise<string | null> {
  const output = join(folder, `${file}.md`);
  const child = spawn(process.execPath, ['--expose-gc', join(FOLDER, 'main.ts'), '--one', file, output], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const printed: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    printed.push(chunk);
    process.stdout.write(chunk);
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code !== 0) throw new Error(`bench/${file} ended with ${signal ?? code}`);
  if (existsSync(output)) return readFileSync(output, 'utf8').trim();
  const text = Buffer.concat(printed).toString('utf8').trim();
  return text === '' ? null : `## ${file.slice(0, -'.ts'.length)}\n\n\`\`\`\n${text}\n\`\`\``;
}

async function runAll(wanted: readonly string[]): Promise<void> {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.ts') && !NOT_BENCHES.has(file));
  const unknown = wanted.filter((name) => !files.includes(`${name}.ts`));
  if (unknown.length > 0) throw new Error(`no such bench: ${unknown.join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'));
  const failures: string[] = [];
  try {
    for (const file of files.sort()) {
      const name = file.slice(0, -'.ts'.length);
      if (wanted.length > 0 ? !wanted.includes(name) : ONLY_BY_NAME.has(name)) continue;
      const startedMs = performance.now();
      const [before] = loadavg();
      try {
        const text = await runInChild(file, folder);
        if (text === null) continue;
        const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
        const circumstances = `Took ${seconds} s; load of the machine before and after: ${before!.toFixed(1)}, ${loadavg()[0]!.toFixed(1)}.`;
        console.log(`\n${text}\n\n${name}: ${circumstances}`);
        writeSections(new Map([[name, text.replace('\n', `\n\n${circumstances}\n`)]]));
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  for (const failure of failures) console.error(failure);
  if (failures.length > 0) process.exitCode = 1;
}

const args = process.argv.slice(2);
if (args[0] === '--one') await runOne(args[1]!, args[2]!);
else await runAll(args);
