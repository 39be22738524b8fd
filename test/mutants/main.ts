import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { WEBHOOK_MUTANTS, type Mutant } from './webhook-mutants.ts';

/*
 * `npm run test:mutants [-- part of a name ...]`: takes one protection of webhook delivery out at a time and shows that the tests that name it
 * fail. Ends with 1 when one is not noticed, or when these tests fail without any change.
 */

const root = resolve(import.meta.dirname, '../..');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

interface Seen {
  readonly fullName: string;
  readonly status: string;
}

/** The tests whose names match, run with the protection taken out; with none when `without` is null. */
async function run(without: string | null, patterns: readonly string[]): Promise<Seen[]> {
  const directory = mkdtempSync(join(tmpdir(), 'quittance-mutants-'));
  const report = join(directory, 'report.json');
  try {
    const child = spawn(
      process.execPath,
      [vitest, 'run', '--config', 'test/mutants/vitest.config.ts', '--reporter=json', `--outputFile=${report}`, '-t', patterns.join('|')],
      { cwd: root, stdio: 'ignore', env: { ...process.env, ...(without !== null && { WITHOUT: without }) } },
    );
    await once(child, 'exit');
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as { testResults: { assertionResults: Seen[] }[] };
    return testResults.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === 'passed' || status === 'failed');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const failedOf = (seen: readonly Seen[], pattern: string): number =>
  seen.filter(({ fullName, status }) => status === 'failed' && new RegExp(pattern).test(fullName)).length;

/** The patterns of which no test noticed. */
async function missed({ without, foundBy }: Mutant): Promise<string[]> {
  const seen = await run(without, foundBy);
  return foundBy.filter((pattern) => failedOf(seen, pattern) === 0);
}

const words = process.argv.slice(2);
const chosen = WEBHOOK_MUTANTS.filter(({ without }) => words.length === 0 || words.some((word) => without.includes(word)));
const whole = await run(null, [...new Set(chosen.flatMap(({ foundBy }) => foundBy))]);
const broken = whole.filter(({ status }) => status === 'failed');
for (const { fullName } of broken) console.log(`fails with nothing taken out: ${fullName}`);
console.log(`with nothing taken out ${whole.length - broken.length} of ${whole.length} tests pass\n\n| without | noticed by |\n| --- | --- |`);
let unnoticed = 0;
for (const mutant of chosen) {
  const none = await missed(mutant);
  unnoticed += none.length;
  console.log(`| ${mutant.without} | ${none.length === 0 ? mutant.foundBy.join(', ') : `**not by ${none.join(', ')}**`} |`);
}
console.log(`\n${chosen.length} protections taken out, ${unnoticed} times not noticed`);
process.exitCode = unnoticed === 0 && broken.length === 0 && whole.length > 0 ? 0 : 1;
