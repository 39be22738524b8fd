import type { Clock } from './clock.ts';

/** A clock with timers. */
export interface Timers extends Clock {
  /** Runs once when the clock reaches `dueAtMs`; the returned function cancels it. */
  at(dueAtMs: number, run: () => void): () => void;
}

/** Longest delay of the runtime's timers; longer waits are split. */
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
