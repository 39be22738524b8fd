import { parseArgs } from 'node:util';
import { again, search } from './measure.ts';
import { keepResult, readResults } from './results.ts';
import { ALL_FAULTS } from './unfixed.ts';
import type { Unfixed } from './unfixed-fault.ts';

/*
 * `npm run simulate:unfixed [-- --minutes <of one core>] [--open] [--kept] [part of a name ...]`: puts one known fault
 * after the other back into the sources and shows that the simulation finds it. `--open` leaves out what was found
 * before, `--kept` runs the plans that found something, and searches anew where they no longer do. Ends with 1 when one is not found that must be.
 */

const { values, positionals } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    open: { type: 'boolean', default: false },
    kept: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
if (!/^\d{1,4}(\.\d+)?$/.test(values.minutes)) {
  console.error(`simulate:unfixed: --minutes must be a number, not ${values.minutes}`);
  process.exit(2);
}

const results = readResults();
const isFound = ({ name }: Unfixed): boolean => results[name]?.outcome === 'found';
const chosen = ALL_FAULTS.filter(
  (fault) =>
    (positionals.length === 0 || positionals.some((part) => fault.name.includes(part))) &&
    (!values.open || !isFound(fault)) &&
    (!values.kept || isFound(fault)),
);
let missed = 0;
for (const fault of chosen) {
  if (values.kept) {
    const { isFound: isStill, cpuSec } = again(fault, results[fault.name]!);
    console.log(`${isStill ? 'found again' : 'not found again'} in ${cpuSec} s of CPU: ${fault.name}`);
    if (isStill) continue;
  }
  const measured = search(fault, Number(values.minutes) * 60);
  keepResult(fault.name, measured);
  const { outcome, by, runs, cpuSec } = measured;
  console.log(`${outcome} after ${runs} runs in ${cpuSec} s of CPU: ${fault.name}${by === null ? '' : `\n  ${by}`}`);
  if (outcome !== 'found' && fault.notFound === undefined) missed += 1;
}
console.log(`\n${chosen.length} faults put back, ${missed} not found`);
process.exitCode = missed === 0 ? 0 : 1;
