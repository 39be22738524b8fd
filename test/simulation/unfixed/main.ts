import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { UNFIXED } from './unfixed.ts';

/*
 * `npm run simulate:unfixed [-- --minutes <of one core>] [part of a name ...]`: puts one known fault after the other
 * back into the sources and shows that the simulation finds it. Ends with 1 when one is not found that must be.
 */

const root = resolve(import.meta.dirname, '../../..');
const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string', default: '10' } },
  allowPositionals: true,
});
if (!/^\d{1,4}$/.test(values.minutes)) {
  console.error(`simulate:unfixed: --minutes must be a whole number, not ${values.minutes}`);
  process.exit(2);
}

const chosen = UNFIXED.filter(
  ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
);
const directory = mkdtempSync(join(tmpdir(), 'quittance-unfixed-'));
let missed = 0;
console.log('| fault | found by | runs | seconds of CPU |\n| --- | --- | --- | --- |');
for (const { name, where, notFound } of chosen) {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--import',
      './test/simulation/unfixed/plant.mjs',
      'test/simulation/main.ts',
      '--seed',
      name,
      ...where,
      '--minutes',
      values.minutes,
      '--no-shrink',
      '--directory',
      directory,
    ],
    { cwd: root, encoding: 'utf8', env: { ...process.env, UNFIX: name }, maxBuffer: 2 ** 30 },
  );
  const found = / breaks a promise:\n {2}(.*)/.exec(stdout)?.[1]?.replaceAll('|', '/') ?? null;
  const crash =
    found === null && !/ runs, /.test(stdout) ? stderr.split('\n').find((line) => /Error/.test(line)) : undefined;
  const runs = stdout.match(/^seed .*: [0-9a-f]{64}/gm)?.length ?? 0;
  const cpu = /in (\d+) s of CPU/.exec(stdout)?.[1] ?? '';
  if (found === null && notFound === undefined) missed += 1;
  console.log(
    `| ${name} | ${found ?? `**not found**${notFound ? `: ${notFound}` : ''}${crash ? ` (${crash})` : ''}`} | ${runs} | ${cpu} |`,
  );
}
console.log(`\n${chosen.length} faults put back, ${missed} not found`);
rmSync(directory, { recursive: true, force: true });
process.exitCode = missed === 0 ? 0 : 1;
