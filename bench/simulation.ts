/*
 * How much service `npm run simulate` gets through in an hour of one core.
 *
 *   npm run bench -- simulation
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { BenchSection } from './section.ts';

const ROOT = join(import.meta.dirname, '..');
const RUNS = 8;

function measure(...args: string[]): readonly string[] {
  const { stdout } = spawnSync(
    process.execPath,
    ['test/simulation/main.ts', '--seed', 'bench', '--runs', String(RUNS), '--no-shrink', ...args],
    {
      ...{ cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 28 },
    },
  );
  const [, hours, cpuSec, speed] =
    /, ([\d.]+) hours of service in (\d+) s of CPU: (\d+) hours an hour/.exec(stdout) ?? [];
  if (speed === undefined) throw new Error(`the simulation did not end well:\n${stdout.slice(-2_000)}`);
  return [hours!, cpuSec!, speed];
}

export function benchSimulation(): BenchSection {
  return {
    title: 'Simulation',
    intro: `Hours of service that \`npm run simulate\` gets through in an hour of one core, ${RUNS} plans each, the load of the program included. Time of the processor, not of the wall.`,
    columns: ['plans', 'hours of service', 'seconds of CPU', 'hours an hour'],
    rows: [
      ['Ethereum, one process', ...measure('--network', 'ethereum', '--profile', 'embedded')],
      ['BSC, one process', ...measure('--network', 'bsc', '--profile', 'embedded')],
      ['as each seed says', ...measure()],
    ],
  };
}
