/*
 * `npm run test:nodes [-- part of a name]`: the contract suites of readers, payouts and finality against real programs,
 * and which of them ran. What cannot be had is named and never counts as passed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findAnvil } from '../../src/sandbox/anvil-binary.ts';
import { findSurfpoolAddon } from '../../src/sandbox/surfpool/addon.ts';
import { gethVersion, installGeth } from './install-geth.ts';

interface Program {
  readonly name: string;
  /** Why it cannot run; null if it can. May install it. */
  readonly missing: () => Promise<string | null> | string | null;
  readonly version: () => Promise<string> | string;
  readonly files: readonly string[];
  /** Only these tests of the files. */
  readonly only?: string;
}

const ROOT = join(import.meta.dirname, '../..');

const versionIn = (packageName: string): string => {
  const file = join(ROOT, 'node_modules', packageName, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
};

const given = (network: string): Program => {
  const setting = `NODE_${network.toUpperCase()}_URL`;
  return {
    name: `the ${network} node at ${setting}`,
    missing: () => (process.env[setting] === undefined ? `${setting} is not set` : null),
    version: () => '',
    files: ['test/nodes/given-node.test.ts'],
    only: `the node of ${network}`,
  };
};

const PROGRAMS: readonly Program[] = [
  {
    name: 'geth',
    missing: installGeth,
    version: gethVersion,
    files: ['test/nodes/geth.test.ts', 'test/nodes/rewound-refund.test.ts'],
  },
  {
    name: 'anvil',
    missing: () => (findAnvil() === null ? 'its package is not installed' : null),
    version: () => execFileSync(findAnvil() ?? '', ['--version'], { encoding: 'utf8' }).split('\n')[0] ?? '',
    files: [
      ...['test/contract/chain-evm.test.ts', 'test/contract/chain-evm-faults.test.ts'],
      ...['test/contract/evm-balances.test.ts', 'test/e2e/refund-evm-faults.test.ts'],
    ],
  },
  {
    name: 'Surfpool',
    missing: () => (findSurfpoolAddon() === null ? `there is none for ${process.platform} ${process.arch}` : null),
    version: () => versionIn('@solana/surfpool-linux-x64-gnu'),
    files: ['test/e2e/solana-surfpool.test.ts'],
  },
  ...['ethereum', 'bsc', 'tron', 'solana'].map(given),
];

/** Passed, failed; null if the run ended before it could tell. */
function play({ files, only }: Program): readonly [passed: number, failed: number] | null {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-nodes-'));
  const report = join(folder, 'report.json');
  try {
    const { status } = spawnSync(
      process.execPath,
      [
        ...[join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config', 'test/nodes/vitest.config.ts'],
        ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...files],
        ...(only === undefined ? [] : ['-t', only]),
      ],
      { cwd: ROOT, stdio: 'inherit' },
    );
    const told = JSON.parse(readFileSync(report, 'utf8')) as { numPassedTests: number; numFailedTests: number };
    // A suite that could not begin has failed no test.
    const failed = status === 0 ? told.numFailedTests : Math.max(1, told.numFailedTests);
    return [told.numPassedTests, failed];
  } catch {
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const part = process.argv[2] ?? '';
const chosen = PROGRAMS.filter(({ name }) => name.includes(part));
if (chosen.length === 0) throw new Error(`no such program: ${PROGRAMS.map(({ name }) => name).join(', ')}`);
const told: string[] = [];
for (const program of chosen) {
  const missing = await program.missing();
  if (missing !== null) {
    told.push(`${program.name}: NOT RUN, ${missing}`);
    continue;
  }
  const name = `${program.name} ${await program.version()}`.trim();
  console.log(`\n== ${name}`);
  const result = play(program);
  const [passed, failed] = result ?? [0, 1];
  told.push(`${name}: ${result === null ? 'the tests did not run' : `${passed} tests passed, ${failed} failed`}`);
  // What tests nothing shows nothing.
  if (failed > 0 || passed === 0) process.exitCode = 1;
}
console.log(`\n${told.join('\n')}`);
