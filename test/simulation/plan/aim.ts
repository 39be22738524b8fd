import type { World } from '../world.ts';
import { PATIENCE_SEC, type Amid, type Step } from './plan.ts';

const SOON_MS = 20;

/** Begins a step at once, or in the middle of the work that it is to strike. */
export function beginAmid(world: World, step: Step, begin: () => void): void {
  if (!('amid' in step) || step.amid === undefined) return begin();
  const { scheduler } = world;
  const { count, inOneStream, withinMs = SOON_MS } = step.amid;
  const delays = world.prng.fork(`amid ${step.atSec}`);
  const counted = new Map<string, number>();
  let hasBegun = false;
  const strike = (): void => {
    if (hasBegun) return;
    hasBegun = true;
    begin();
  };
  listen(world, step.amid, (stream) => {
    const counter = inOneStream ? stream : '';
    counted.set(counter, (counted.get(counter) ?? 0) + 1);
    if (counted.get(counter) === count) scheduler.after(delays.between(0, withinMs), null, strike);
  });
  scheduler.after(PATIENCE_SEC * 1000, null, strike);
}

function listen({ chains, log }: World, { what, type }: Amid, happened: (stream: string) => void): void {
  if (what === 'event')
    return void log.onCommitted.push((event) => (type === undefined || event.type === type) && happened(event.stream));
  for (const { chain } of chains.values()) {
    const landedBefore = chain.paymentsLanded;
    chain.onAsked.push(() => (what === 'request' || chain.paymentsLanded > landedBefore) && happened(''));
  }
}
