import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { renderSection } from './section.ts';
import type { BenchSection } from './section.ts';

/*
 * `npm run bench [-- name ...]`: runs every `bench/<name>.ts` that exports a function (the default one, else the first),
 * each in a process of its own, and writes the answers to `docs/benchmarks.md`. Files without an exported function are
 * helpers. With names only those run, and only their sections are replaced.
 */

const FOLDER = import.meta.dirname;
const REPORT = join(FOLDER, '..', 'docs', 'benchmarks.md');
const NOT_BENCHES = new Set(['main.ts', 'section.ts', 'peers.ts']);

type Bench = () => Promise<BenchSection | string> | BenchSection | string;

async function benchOf(file: string): Promise<Bench | null> {
  const exports = (await import(pathToFileURL(join(FOLDER, file)).href)) as Record<string, unknown>;
  const bench = exports['default'] ?? Object.values(exports).find((value) => typeof value === 'function');
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

function runInChild(file: string, folder: string): string | null {
  const output = join(folder, `${file}.md`);
  const child = spawnSync(process.execPath, ['--expose-gc', join(FOLDER, 'main.ts'), '--one', file, output], { stdio: 'inherit' });
  if (child.status !== 0) throw new Error(`bench/${file} ended with ${child.signal ?? child.status}`);
  return existsSync(output) ? readFileSync(output, 'utf8').trim() : null;
}

const begin = (name: string): string => `<!-- bench:${name} -->`;
const end = (name: string): string => `<!-- /bench:${name} -->`;

function header(): string {
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}, Node ${process.version}`;
  return [
    '# Benchmarks',
    '',
    'Written by `npm run bench`; repeat one section with `npm run bench -- <name>`. Rounds of the candidates alternate within one',
    'run and the median counts. Absolute figures belong to the machine; the ratios are what we hold ourselves to.',
    '',
    `Machine of the last run: ${machine}.`,
  ].join('\n');
}

/** Sections in alphabetical order; those that did not run now are kept as they were. */
function mergeReport(old: string, fresh: ReadonlyMap<string, string>): string {
  const sections = new Map<string, string>();
  for (const match of old.matchAll(/<!-- bench:([\w-]+) -->\n([\s\S]*?)\n<!-- \/bench:\1 -->/g)) sections.set(match[1]!, match[2]!);
  for (const [name, text] of fresh) sections.set(name, text);
  const body = [...sections].sort(([a], [b]) => a.localeCompare(b)).map(([name, text]) => `${begin(name)}\n${text}\n${end(name)}`);
  return `${[header(), ...body].join('\n\n')}\n`;
}

function runAll(wanted: readonly string[]): void {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.ts') && !NOT_BENCHES.has(file));
  const unknown = wanted.filter((name) => !files.includes(`${name}.ts`));
  if (unknown.length > 0) throw new Error(`no such bench: ${unknown.join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'));
  const failures: string[] = [];
  try {
    for (const file of files.sort()) {
      const name = file.slice(0, -'.ts'.length);
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      try {
        const text = runInChild(file, folder);
        if (text === null) continue;
        console.log(`\n${text}\n`);
        writeFileSync(REPORT, mergeReport(existsSync(REPORT) ? readFileSync(REPORT, 'utf8') : '', new Map([[name, text]])));
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
else runAll(args);
