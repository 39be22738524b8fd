import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REPOSITORY } from '../support/repository.ts';

const vitest = join(REPOSITORY, 'node_modules/vitest/vitest.mjs');

export interface Seen {
  readonly fullName: string;
  readonly status: string;
}

/**
 * The tests of a set whose names match, run with the protection taken out; with none when `without` is null. `files`
 * are parts of their names.
 */
export async function runWithout(
  set: string,
  without: string | null,
  patterns: readonly string[],
  files: readonly string[] = [],
): Promise<readonly Seen[]> {
  const directory = mkdtempSync(join(tmpdir(), 'quittance-mutants-'));
  const report = join(directory, 'report.json');
  const wanted = ['--reporter=json', `--outputFile=${report}`, '-t', patterns.join('|'), ...files];
  try {
    const child = spawn(process.execPath, [vitest, 'run', '--config', 'test/mutants/vitest.config.ts', ...wanted], {
      cwd: REPOSITORY,
      stdio: 'ignore',
      env: { ...process.env, MUTANTS: set, ...(without !== null && { WITHOUT: without }) },
    });
    await once(child, 'exit');
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as { testResults: { assertionResults: Seen[] }[] };
    return testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'passed' || status === 'failed');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** How many tests whose names match noticed. */
export const failedOf = (seen: readonly Seen[], pattern: string): number =>
  seen.filter(({ fullName, status }) => status === 'failed' && new RegExp(pattern).test(fullName)).length;
