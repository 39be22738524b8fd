import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Measured } from './measure.ts';
import { UNFIXED } from './unfixed.ts';

const FILE = join(import.meta.dirname, 'measured.json');
const TABLE = resolve(import.meta.dirname, '../../../docs/simulation-unfixed.md');

/** What was measured last, by the name of its fault. */
export type Results = Readonly<Record<string, Measured>>;

export const readResults = (): Results => JSON.parse(readFileSync(FILE, 'utf8')) as Results;

/** Keeps one more, and the table of the documentation with it; of faults that are listed no more nothing stays. */
export function keepResult(name: string, measured: Measured): void {
  const kept = { ...readResults(), [name]: measured };
  const listed = UNFIXED.flatMap((fault) => (kept[fault.name] ? [[fault.name, kept[fault.name]!] as const] : []));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(listed), null, 2)}\n`);
  writeFileSync(TABLE, tableOf(Object.fromEntries(listed)));
}

/** The page of the documentation: written here and never by hand. */
export function tableOf(results: Results): string {
  const rows = UNFIXED.map(({ name, where, notFound }) => {
    const { outcome, by, plan, runs, cpuSec } = results[name] ?? {};
    const why = outcome === 'found' || notFound === undefined ? '' : `: ${notFound}`;
    const said = outcome === 'found' ? by!.replaceAll('|', '/') : `**${outcome ?? 'not measured yet'}**${why}`;
    return `| ${name} | ${said} | \`${where.join(' ')}\` | ${plan ?? ''} | ${runs ?? ''} | ${cpuSec ?? ''} |`;
  });
  const found = UNFIXED.filter(({ name }) => results[name]?.outcome === 'found').length;
  return `# Known faults, put back

Written by \`npm run simulate:unfixed\` ([simulation](simulation.md#is-it-worth-anything)), never by hand. Of ${UNFIXED.length} faults ${found} are found. Each was
found by the plan of that number among those of the fault's name, which breaks no promise without the fault; \`npm run simulate:unfixed -- --kept\` shows that once more.

| fault | found by | where it was looked for | plan | runs | seconds of CPU |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
}
