import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';

const REPORT = join(import.meta.dirname, '..', 'docs', 'benchmarks.md');

/** Puts sections (Markdown by name) into `docs/benchmarks.md`, in alphabetical order; the others stay as they were. */
export function writeSections(fresh: ReadonlyMap<string, string>): void {
  const old = existsSync(REPORT) ? readFileSync(REPORT, 'utf8') : '';
  const sections = new Map<string, string>();
  for (const match of old.matchAll(/<!-- bench:([\w-]+) -->\n([\s\S]*?)\n<!-- \/bench:\1 -->/g))
    sections.set(match[1]!, match[2]!);
  for (const [name, text] of fresh) sections.set(name, text);
  const body = [...sections]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, text]) => `<!-- bench:${name} -->\n${text}\n<!-- /bench:${name} -->`);
  writeFileSync(REPORT, `${[header(), ...body].join('\n\n')}\n`);
}

function header(): string {
  const cores = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'})`;
  const machine = `${cores}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}, Node ${process.version}`;
  return [
    '# Benchmarks',
    '',
    'Written by `npm run bench`; repeat one section with `npm run bench -- <name>`, the peers with `npm run bench:peers`. Rounds of the',
    'candidates alternate within one run and the median counts. Absolute figures belong to the machine; the ratios are what we hold',
    'ourselves to. What runs without a name takes 15 to 20 minutes on two quiet cores; the rest runs by name.',
    '',
    `Machine of the last run: ${machine}. Each section says the load beside which it was measured.`,
  ].join('\n');
}
