import { writeFileSync } from 'node:fs';
import { CRASH_POINTS, CrashWorld, type Outcome, type PaidNetwork } from './crash-world.ts';

/*
 * `npm run test:crash [networks]`: kills the service at every point of a payout, and at every point again while it
 * recovers, on each network, and prints what the chain saw. Ends with 1 when a refund was paid twice, to somebody else,
 * or not at all. CRASH_REPORT=<file> writes the table.
 */

/** The second kill comes while the service recovers from the first one. */
const SECOND = ['after-reserve', 'after-sign', 'before-broadcast', 'after-broadcast', 'before-landed-event'] as const;

const networks = (process.argv.slice(2).length > 0 ? process.argv.slice(2) : ['ethereum', 'bsc', 'tron', 'solana']) as PaidNetwork[];
const rows: string[] = [];
let violations = 0;

for (const network of networks) {
  const world = await CrashWorld.create(network);
  try {
    for (const first of CRASH_POINTS)
      for (const points of [[first], ...SECOND.map((second) => [first, second])]) report(await attempt(world, network, points));
  } finally {
    await world.remove();
  }
}
if (process.env['CRASH_REPORT']) writeFileSync(process.env['CRASH_REPORT'], `${rows.join('\n')}\n`);
process.stdout.write(`${rows.length} refunds, ${violations} violations\n`);
process.exitCode = violations === 0 ? 0 : 1;

async function attempt(world: CrashWorld, network: PaidNetwork, points: readonly string[]): Promise<Outcome> {
  try {
    return await world.refundThrough(points);
  } catch (error) {
    return { network, points, reached: [], transfers: 0, violation: (error as Error).message };
  }
}

function report({ network, points, reached, transfers, violation }: Outcome): void {
  const row = `| ${network} | ${points.join(', then ')} | ${reached.length} of ${points.length} | ${transfers} | ${violation ?? 'none'} |`;
  rows.push(row);
  if (violation !== null) violations += 1;
  process.stdout.write(`${row}\n`);
}
