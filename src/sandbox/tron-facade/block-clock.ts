import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Tells how many blocks there are and when each was made; blocks without transactions cost nothing. */
export interface BlockClock {
  /** Number of the newest block. */
  head(): number;
  timeMsOf(number: number): number;
  /** True for a clock that stands still until `mine` makes blocks. */
  readonly manual: boolean;
  mine(count: number): void;
}

/** A run of equally spaced blocks. */
interface Run {
  readonly fromNumber: number;
  readonly startMs: number;
}

interface Persisted {
  readonly intervalMs: number;
  readonly runs: readonly Run[];
  readonly reserved: number;
}

/** Blocks promised to the file ahead of time, so that no number is ever used for two blocks, also after a kill. */
const RESERVE_MS = 2_000;

/**
 * A block every `intervalMs` while the process runs. Numbers are reserved in `file` before they are shown; after a restart
 * counting goes on behind the reservation.
 */
export function createIntervalClock(file: string, intervalMs: number, nowMs: () => number): BlockClock {
  const stored = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Persisted) : null;
  const runs: Run[] = stored === null ? [{ fromNumber: 0, startMs: nowMs() - intervalMs }] : [...stored.runs];
  let reserved = stored?.reserved ?? -1;
  const step = stored?.intervalMs ?? intervalMs;
  const reservedAhead = Math.ceil(RESERVE_MS / step);

  const timeMsOf = (number: number): number => {
    const run = runs.findLast((candidate) => candidate.fromNumber <= number) ?? runs[0]!;
    return run.startMs + (number - run.fromNumber) * step;
  };
  const save = (): void => {
    writeFileSync(`${file}.new`, JSON.stringify({ intervalMs: step, runs, reserved } satisfies Persisted));
    renameSync(`${file}.new`, file);
  };
  if (stored !== null) runs.push({ fromNumber: reserved + 1, startMs: Math.max(nowMs(), timeMsOf(reserved) + step) });

  return {
    head() {
      const now = nowMs();
      const index = runs.findLastIndex((candidate) => candidate.startMs <= now);
      const run = runs[Math.max(index, 0)]!;
      const next = runs[index + 1];
      const elapsed = run.fromNumber + Math.max(0, Math.floor((now - run.startMs) / step));
      const number = next === undefined ? elapsed : Math.min(elapsed, next.fromNumber - 1);
      if (number > reserved) {
        reserved = number + reservedAhead;
        save();
      }
      return number;
    },
    timeMsOf,
    manual: false,
    mine() {
      throw new Error('blocks come by themselves');
    },
  };
}

/** Blocks only when asked for: for tests. As with the other clock, block 1 is there from the start: tronweb cannot refer to block 0. */
export function createManualClock(nowMs: () => number): BlockClock {
  const times = [nowMs(), nowMs()];
  return {
    head: () => times.length - 1,
    timeMsOf: (number) => times[number]!,
    manual: true,
    mine(count) {
      for (let index = 0; index < count; index++) times.push(Math.max(nowMs(), times.at(-1)!));
    },
  };
}
