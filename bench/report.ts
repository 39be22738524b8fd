import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { goalsTable } from './goals.ts';

const REPORT = join(import.meta.dirname, '..', 'docs', 'benchmarks.md');

/** Puts a section (Markdown) into `docs/benchmarks.md` and renews the table of goals; the other sections stay. */
export function writeSection(name: string, text: string): void {
  const old = existsSync(REPORT) ? readFileSync(REPORT, 'utf8') : '';
  const sections = new Map<string, string>();
  for (const match of old.matchAll(/<!-- bench:([\w-]+) -->\n([\s\S]*?)\n<!-- \/bench:\1 -->/g))
    sections.set(match[1]!, match[2]!);
  sections.set(name, text);
  const sorted = [...sections].sort(([a], [b]) => a.localeCompare(b));
  const body = sorted.map(([each, markdown]) => `<!-- bench:${each} -->\n${markdown}\n<!-- /bench:${each} -->`);
  const goals = goalsTable(sorted.map(([, markdown]) => markdown));
  writeFileSync(REPORT, `${[header(), goals, ...body].join('\n\n')}\n`);
}

function header(): string {
  const cores = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'})`;
  const machine = `${cores}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}, Node ${process.version}`;
  return `# Benchmarks

\`npm run bench\` writes this page in at most 15 minutes. \`npm run bench -- <name>\` repeats one section,
\`npm run bench:peers\` measures the peers. The candidates of a section take turns within one run, and the median counts.
Absolute figures depend on the machine, so compare ratios.

Machine of the last run: ${machine}. Sections state when they ended and the load beside them.`;
}
