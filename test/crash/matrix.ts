import { appendFileSync } from 'node:fs';
import {
  isJourney,
  isKilledNetwork,
  JOURNEYS,
  NETWORKS,
  plansOf,
  type JourneyName,
  type KilledNetwork,
  type Plan,
} from './crash-plans.ts';
import { CrashWorld, type Outcome } from './crash-world.ts';
import { planted, PLANTED_KILLS } from './plants.ts';

/*
 * `npm run test:crash -- [networks] [refund sweep withdrawal settlement return] [plants]`: kills the service at every
 * point of each way that money goes out, and again while it recovers, and prints what the chain saw. Ends with 1 when
 * anything was paid twice, to somebody else, or not at all, or when books and chain differ at the end.
 * CRASH_REPORT=<file> gets each row as it is known.
 */

const words = process.argv.slice(2);
const unknown = words.find((word) => !isKilledNetwork(word) && !isJourney(word) && word !== 'plants');
if (unknown !== undefined)
  throw new Error(`${unknown} is neither one of ${NETWORKS.join(', ')} nor of ${JOURNEYS.join(', ')}, nor plants`);
const chosen = <Name extends string>(all: readonly Name[], isOne: (word: string) => word is Name): readonly Name[] =>
  words.some(isOne) ? words.filter(isOne) : all;

let transfers = 0;
let kills = 0;
let violations = 0;
if (words.length === 0 || words.includes('plants')) for (const plant of PLANTED_KILLS) await findPlant(plant);
for (const network of words.join() === 'plants' ? [] : chosen(NETWORKS, isKilledNetwork)) {
  const world = await CrashWorld.create(network);
  try {
    for (const journey of chosen(JOURNEYS, isJourney))
      for (const plan of plansOf(journey, network)) report(await attempt(world, network, journey, plan));
    const differs = await world.service().then(() => world.disagreement());
    line(`| ${network} | books and chain at the end | | | ${differs ?? 'none'} |`);
    if (differs !== null) violations += 1;
  } finally {
    await world.remove();
  }
}
line(`${transfers} transfers, ${kills} kills, ${violations} violations`);
process.exitCode = violations === 0 ? 0 : 1;

async function findPlant({ bug, point, transfers: expected }: (typeof PLANTED_KILLS)[number]): Promise<void> {
  const world = await CrashWorld.create('tron', planted(bug));
  try {
    const seen = (await attempt(world, 'tron', 'refund', [point])).transfers;
    if (seen !== expected) violations += 1;
    line(
      `| tron | planted ${bug}: ${point} | | ${seen} | ${seen === expected ? 'as expected' : `${expected} transfers were expected`} |`,
    );
  } finally {
    await world.remove();
  }
}

async function attempt(
  world: CrashWorld,
  network: KilledNetwork,
  journey: JourneyName,
  points: Plan,
): Promise<Outcome> {
  try {
    return await world.through(journey, points);
  } catch (error) {
    return { network, journey, points, reached: [], transfers: 0, violation: (error as Error).message };
  }
}

function report({ network, journey, points, reached, transfers: seen, violation }: Outcome): void {
  transfers += 1;
  kills += reached.length;
  if (violation !== null) violations += 1;
  line(
    `| ${network} | ${journey}: ${points.join(', ')} | ${reached.length} of ${points.length} | ${seen} | ${violation ?? 'none'} |`,
  );
}

function line(text: string): void {
  process.stdout.write(`${text}\n`);
  if (process.env['CRASH_REPORT']) appendFileSync(process.env['CRASH_REPORT'], `${text}\n`);
}
