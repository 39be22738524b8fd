import type { Clock } from './clock.ts';

/** A clock that also wakes. */
export interface Timers extends Clock {
  /** Runs once when the clock has reached `dueAtMs`; the returned function calls it off. */
  at(dueAtMs: number, run: () => void): () => void;
}

/** The longest delay that the runtime's timers can express; longer waits are taken in steps. */
const LONGEST_MS = 2 ** 31 - 1;

export const systemTimers: Timers = {
  nowMs: () => Date.now(),
  at(dueAtMs, run) {
    let handle: NodeJS.Timeout;
    const arm = (): void => {
      const leftMs = dueAtMs - Date.now();
      handle = leftMs > LONGEST_MS ? setTimeout(arm, LONGEST_MS) : setTimeout(run, Math.max(0, leftMs));
    };
    arm();
    return () => clearTimeout(handle);
  },
};
