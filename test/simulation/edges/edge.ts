import type { Prng } from '../time/prng.ts';
import { currentProcess, type Scheduler } from '../time/scheduler.ts';

/** How long what lies outside of a process takes, there and back. */
export interface Latency {
  readonly leastMs: number;
  readonly mostMs: number;
}

const latencyOf = (prng: Prng, { leastMs, mostMs }: Latency): number => leastMs + prng.fraction() * (mostMs - leastMs);

/**
 * A call out of a process. The work is done between two moments at which the process can end: before the first one it
 * is not done, and between them it is done and the caller never hears of it. `loses` says whether what a process had
 * sent is lost with it.
 */
export function callOut<Value>(
  { scheduler, prng, loses }: { readonly scheduler: Scheduler; readonly prng: Prng; readonly loses?: () => boolean },
  latency: Latency,
  work: () => Value,
): Promise<Value> {
  const caller = currentProcess();
  return new Promise<Value>((resolve, reject) => {
    scheduler.after(latencyOf(prng, latency), null, () => {
      if (caller?.isDead && loses?.()) return;
      let answer: () => void;
      try {
        const value = work();
        answer = () => resolve(value);
      } catch (error) {
        answer = () => reject(error instanceof Error ? error : new Error(String(error)));
      }
      scheduler.after(latencyOf(prng, latency), caller, answer);
    });
  });
}

/** The same object for one process: nothing that it asks for after its end is done or answered. */
export function mortal<Target extends object>(target: Target): Target {
  const process = currentProcess();
  if (!process) throw new Error('only a process is mortal');
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown =>
        process.isDead ? new Promise(() => undefined) : (value as (...args: unknown[]) => unknown).apply(target, args);
    },
  });
}
