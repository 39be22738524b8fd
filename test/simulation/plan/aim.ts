import type { World } from '../world.ts';
import { PATIENCE_SEC, type Step } from './plan.ts';

/** Begins a step at once, or in the middle of the work that it is to strike. */
export function beginAmid(world: World, step: Step, begin: () => void): void {
  if (!('amid' in step) || step.amid === undefined) return begin();
  const { scheduler, chains, log } = world;
  const delays = world.prng.fork(`amid ${step.atSec}`);
  let left = step.amid.count;
  let hasBegun = false;
  const strike = (): void => {
    if (hasBegun) return;
    hasBegun = true;
    begin();
  };
  const happened = (): void => {
    left -= 1;
    if (left === 0) scheduler.after(delays.between(0, 20), null, strike);
  };
  if (step.amid.what === 'event') log.onCommitted.push(happened);
  else for (const { chain } of chains.values()) chain.onAsked.push(happened);
  scheduler.after(PATIENCE_SEC * 1000, null, strike);
}
