import { sweepPlans, SweepWorld } from './sweep-world.ts';

/*
 * `npm run test:crash:sweeps [networks]`: kills the service at every point of a gas top-up and of the sweep after it, and
 * prints what the chain saw. Ends with 1 when money was swept twice, not at all, or the books disagree.
 */

const networks = process.argv.slice(2).length > 0 ? process.argv.slice(2) : ['ethereum', 'bsc', 'tron'];
let violations = 0;

for (const network of networks) {
  const world = new SweepWorld(network);
  try {
    for (const point of sweepPlans()) {
      const { reached, transfers, violation } = await world.sweepThrough(point);
      if (violation !== null) violations += 1;
      process.stdout.write(`| ${network} | ${point} | ${reached ? 'killed' : 'passed by'} | ${transfers} | ${violation ?? 'none'} |\n`);
    }
  } finally {
    world.remove();
  }
}
process.stdout.write(`${violations} violations\n`);
process.exitCode = violations === 0 ? 0 : 1;
