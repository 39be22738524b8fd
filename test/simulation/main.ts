import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { coverageReport } from './coverage.ts';
import { FOCUSES, generate, type Focus } from './plan/generate.ts';
import { MODELLED_NETWORKS, type ModelledNetwork, type Plan, type Profile } from './plan/plan.ts';
import type { Outcome } from './plan/run.ts';
import { shrink } from './plan/shrink.ts';
import { keepSituations } from './situations.ts';

/*
 * `npm run simulate -- [--seed S] [--first N] [--runs N] [--steps N] [--minutes N] [--network ethereum]
 * [--profile shared] [--keep-going] [--replay FILE ...] [--timeline] [--coverage]`: a whole installation in virtual time, over and over,
 * each time with another plan. Ends with 1 at the first run that breaks a promise, with a plan that was made as small
 * as it goes and its timeline in a file that `--replay` takes.
 */

const MOST_TRIES = 120;
const FAILURES = 'simulation-failures';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    first: { type: 'string', default: '0' },
    runs: { type: 'string', default: '1' },
    steps: { type: 'string' },
    minutes: { type: 'string' },
    replay: { type: 'string', multiple: true },
    network: { type: 'string', multiple: true },
    profile: { type: 'string' },
    focus: { type: 'string', multiple: true },
    directory: { type: 'string', default: FAILURES },
    timeline: { type: 'boolean', default: false },
    coverage: { type: 'boolean', default: false },
    'keep-situations': { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
});

const numberOf = (name: 'first' | 'runs' | 'steps'): number | undefined => {
  const text = values[name];
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) return usage(`--${name} must be a whole number, not ${text}`);
  return Number(text);
};

function minutesOf(): number | undefined {
  const { minutes } = values;
  if (minutes !== undefined && !/^\d{1,4}(\.\d{1,3})?$/.test(minutes))
    return usage(`--minutes must be a number, not ${minutes}`);
  return minutes === undefined ? undefined : Number(minutes);
}

function usage(fault: string): never {
  console.error(`simulate: ${fault}`);
  process.exit(2);
}

function networksOf(): readonly ModelledNetwork[] | undefined {
  const named = values.network;
  const unknown = named?.find((name) => !MODELLED_NETWORKS.includes(name as ModelledNetwork));
  if (unknown !== undefined) usage(`--network must be one of ${MODELLED_NETWORKS.join(', ')}, not ${unknown}`);
  return named as readonly ModelledNetwork[] | undefined;
}

function profileOf(): Profile | undefined {
  const { profile } = values;
  if (profile === undefined || profile === 'embedded' || profile === 'shared') return profile;
  return usage(`--profile must be embedded or shared, not ${profile}`);
}

function focusOf(): readonly Focus[] | undefined {
  const unknown = values.focus?.find((name) => !FOCUSES.includes(name as Focus));
  return unknown === undefined
    ? (values.focus as readonly Focus[] | undefined)
    : usage(`--focus must be one of ${FOCUSES.join(', ')}, not ${unknown}`);
}

function planIn(file: string): Plan {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { plan: Plan }).plan;
  } catch (error) {
    return usage(`--replay: ${file} cannot be read as a plan (${(error as Error).message})`);
  }
}

/** What was promised and broken, without names that differ from plan to plan. */
const kindOf = (violation: string): string => violation.replace(/[a-z]+_[a-z0-9]+|0x[0-9a-f]+|\d+/g, '·');

async function explain(plan: Plan, outcome: Outcome): Promise<void> {
  console.log(`\nseed ${plan.seed} breaks a promise:\n${outcome.violations.map((text) => `  ${text}`).join('\n')}`);
  const kinds = new Set(outcome.violations.map(kindOf));
  const fails = async (smaller: Plan): Promise<boolean> =>
    (await run(smaller)).violations.some((text) => kinds.has(kindOf(text)));
  const small = values['no-shrink']
    ? plan
    : await shrink(plan, fails, MOST_TRIES, (steps) => console.log(`  still so with ${steps} steps`));
  const again = small === plan ? outcome : await run(small);
  mkdirSync(values.directory, { recursive: true });
  const file = resolve(join(values.directory, `seed-${plan.seed}.json`));
  const timeline = again.world.timeline.text().split('\n');
  writeFileSync(
    file,
    `${JSON.stringify({ violations: again.violations, digest: again.digest, plan: small, timeline }, null, 2)}\n`,
  );
  console.log(
    `\n${again.world.timeline.text()}\n\n${small.steps.length} of ${plan.steps.length} steps are enough. Again: npm run simulate -- --replay ${file}`,
  );
}

const [first, runs, steps, minutes] = [numberOf('first')!, numberOf('runs')!, numberOf('steps'), minutesOf()];
const networks = networksOf();
const profile = profileOf();
const focus = focusOf();
const replayed = values.replay?.map(planIn) ?? null;
// Loading the whole service takes longer than finding out that an option is wrong.
const { run } = await import('./plan/run.ts');
const startedUsage = process.cpuUsage();
/** Of one core, so that a busy machine looks no less. */
const elapsedMin = (): number => {
  const { user, system } = process.cpuUsage(startedUsage);
  return (user + system) / 60e6;
};
const counts = new Map<string, number>();
let [simulatedSec, done, failed] = [0, 0, 0];
for (
  let number = 0;
  minutes === undefined || replayed ? number < (replayed?.length ?? runs) : elapsedMin() < minutes;
  number += 1
) {
  const seed = first + number === 0 ? values.seed : `${values.seed}-${first + number}`;
  const plan =
    replayed?.[number] ??
    generate(seed, {
      ...(steps !== undefined && { steps }),
      ...(networks && { networks }),
      ...(profile && { profile }),
      ...(focus && { focus }),
    });
  const outcome = await run(plan);
  done += 1;
  simulatedSec += outcome.simulatedSec;
  for (const [situation, times] of outcome.world.timeline.counts)
    counts.set(situation, (counts.get(situation) ?? 0) + times);
  if (values.timeline) console.log(outcome.world.timeline.text());
  console.log(
    `seed ${plan.seed}: ${outcome.digest} (${plan.profile}${plan.nodes > 1 ? ` by ${plan.nodes}` : ''}, ${plan.networks.join(', ')}, ${plan.steps.length} steps, ${Math.round(outcome.simulatedSec)} s)`,
  );
  if (outcome.violations.length === 0) continue;
  failed += 1;
  if (replayed && !values['no-shrink']) console.log(outcome.violations.join('\n'));
  else await explain(plan, outcome);
  if (!values['keep-going']) break;
}
const { user, system } = process.cpuUsage();
const cpuSec = (user + system) / 1e6;
console.log(
  `${done} runs, ${(simulatedSec / 3600).toFixed(1)} hours of service in ${cpuSec.toFixed(0)} s of CPU: ${Math.round(simulatedSec / cpuSec)} hours an hour, ${failed} failed`,
);
if (values.coverage) console.log(coverageReport(counts));
if (values['keep-situations'])
  keepSituations({ runs: done, hours: simulatedSec / 3600, met: Object.fromEntries(counts) });
// What was printed into a pipe is read first.
process.stdout.write('', () => process.exit(failed === 0 ? 0 : 1));
