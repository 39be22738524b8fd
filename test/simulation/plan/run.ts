import { CarriedOut, SETTLING_SEC } from './carry-out.ts';
import { Replay } from '../oracle/look-ups.ts';
import { Oracle } from '../oracle/oracle.ts';
import type { Plan } from './plan.ts';
import { GAS_FLOAT, TOKENS } from '../networks.ts';
import { START_MS, World } from '../world.ts';

export interface Outcome {
  readonly digest: string;
  readonly world: World;
  readonly violations: readonly string[];
  readonly simulatedSec: number;
}

const FLOAT_UNITS = 50_000_000_000n;
const LOOK_SEC = 60;
/** For what is told and booked after everything has settled. */
const LAST_SEC = 120;
const REPLAY_SEC = 30;
const MORE_LOOKS = 3;

/** Carries a plan out from the first start of the service to the moment at which everything has settled. */
export async function run(plan: Plan): Promise<Outcome> {
  const world = new World(plan);
  const { scheduler } = world;
  const oracle = new Oracle(world);
  const { violations } = oracle;
  const outcome = (): Outcome => ({
    digest: world.timeline.digest,
    world,
    violations,
    simulatedSec: (scheduler.nowMs - START_MS) / 1000,
  });
  const onRejection = (error: unknown): void => {
    world.timeline.add('bug', `nobody took care of: ${(error as Error).stack ?? String(error)}`);
    violations.push(`a rejection that nobody took care of: ${String(error)}`);
  };
  process.on('unhandledRejection', onRejection);
  try {
    for (const network of plan.networks) {
      const { chain, treasury } = world.chainOf(network);
      for (const asset of [TOKENS[network].USDT, TOKENS[network].USDC]) chain.give(treasury, asset, FLOAT_UNITS);
      chain.give(treasury, 'native', GAS_FLOAT[network]);
    }
    for (let number = 0; number < plan.nodes; number += 1) world.startNode(number);
    let isReady = false;
    const ready = Promise.all(world.nodes.map((node) => node!.started))
      .then(() => world.registerMerchants())
      .then(() => (isReady = true));
    await scheduler.run(START_MS + 50_000, () => isReady);
    if (!isReady) throw new Error('the service did not start');
    await ready;
    const carried = new CarriedOut(world);
    carried.schedule();
    const isOver = (): boolean => violations.length > 0;
    const endMs = START_MS + (carried.endSec + SETTLING_SEC) * 1000;
    await scheduler.run(START_MS + carried.endSec * 1000, isOver);
    const isSettled = (): boolean => carried.isIdle && oracle.isSettled();
    const mayGoOn = (): boolean => !isOver() && scheduler.nowMs < endMs;
    // The last of it may begin something more, as late money does that is swept.
    do {
      while (mayGoOn() && !isSettled()) await scheduler.run(scheduler.nowMs + LOOK_SEC * 1000, isOver);
      if (!isOver()) await scheduler.run(scheduler.nowMs + LAST_SEC * 1000, isOver);
    } while (mayGoOn() && !isSettled());
    if (isOver()) return outcome();
    const replay = new Replay(world);
    await Promise.all([replay.start(), scheduler.run(scheduler.nowMs + REPLAY_SEC * 1000, isOver)]);
    // Whoever follows the log may be busy with something else for seconds, also when the last look is taken.
    for (let look = 0; look < MORE_LOOKS && replay.differences().length > 0; look += 1)
      await scheduler.run(scheduler.nowMs + REPLAY_SEC * 1000, isOver);
    oracle.judgeTheEnd(carried.facts);
    for (const fault of replay.differences()) oracle.found(fault);
    return outcome();
  } finally {
    world.close();
    process.off('unhandledRejection', onRejection);
  }
}
