import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLines } from './journal.ts';
import { must } from '../../domain/values/must.ts';

/** Tells how many blocks there are and when each was made; blocks without transactions cost nothing. */
export interface BlockClock {
  /** Number of the newest block. */
  head(): number;
  timeMsOf(number: number): number;
  /** A transaction arrived: blocks follow quickly until it is final. */
  hurry(): void;
  /** True for a clock that only advances when `mine` makes blocks. */
  readonly manual: boolean;
  mine(count: number): void;
}

/** The pace of a chain. Watchers read every block, so an idle chain slows down and a transaction wakes it. */
export interface BlockPace {
  readonly busyMs: number;
  /** Payment deadlines are judged by block time, so time must advance. */
  readonly idleMs: number;
  /** Blocks at the busy pace after a transaction. */
  readonly busyBlocks: number;
}

/** Equally spaced blocks, until the next run starts. */
interface Run {
  readonly fromNumber: number;
  readonly startMs: number;
  readonly stepMs: number;
}

/** Blocks reserved ahead of time, so that no number is ever used for two blocks, even after a kill. */
const RESERVE_MS = 2_000;

/**
 * Makes blocks at the given pace while the process runs. Runs are written to `directory`, and numbers reserved there,
 * before anyone sees them; after a restart, counting continues after the reservation.
 */
export function createIntervalClock(
  directory: string,
  { busyMs, idleMs, busyBlocks }: BlockPace,
  nowMs: () => number,
): BlockClock {
  const runsFile = join(directory, 'block-runs.jsonl');
  const reservedFile = join(directory, 'blocks-reserved');
  const runs: Run[] = [];
  let reserved = existsSync(reservedFile) ? Number(readFileSync(reservedFile, 'utf8')) : -1;

  const put = (run: Run): void => {
    while ((runs.at(-1)?.fromNumber ?? -1) >= run.fromNumber) runs.pop();
    runs.push(run);
  };
  /** Busy from this block on, then idle. Replaces the planned runs. */
  const begin = (fromNumber: number, startMs: number): void => {
    const idleFrom = {
      fromNumber: fromNumber + busyBlocks,
      startMs: startMs + (busyBlocks - 1) * busyMs + idleMs,
      stepMs: idleMs,
    };
    const added: Run[] = [{ fromNumber, startMs, stepMs: busyMs }, idleFrom];
    appendFileSync(runsFile, added.map((run) => `${JSON.stringify(run)}\n`).join(''));
    added.forEach(put);
  };
  const timeMsOf = (number: number): number => {
    const run = runs.findLast(({ fromNumber }) => fromNumber <= number) ?? must(runs[0]);
    return run.startMs + (number - run.fromNumber) * run.stepMs;
  };
  const head = (): number => {
    const now = nowMs();
    const index = runs.findLastIndex(({ startMs }) => startMs <= now);
    const run = must(runs[Math.max(index, 0)]);
    const elapsed = run.fromNumber + Math.max(0, Math.floor((now - run.startMs) / run.stepMs));
    const number = Math.min(elapsed, (runs[index + 1]?.fromNumber ?? Infinity) - 1);
    if (number > reserved) {
      reserved = number + Math.ceil(RESERVE_MS / run.stepMs);
      writeFileSync(`${reservedFile}.new`, String(reserved));
      renameSync(`${reservedFile}.new`, reservedFile);
    }
    return number;
  };

  for (const run of readLines<Run>(runsFile)) put(run);
  if (runs.length === 0) begin(0, nowMs() - busyMs);
  else begin(reserved + 1, Math.max(nowMs(), timeMsOf(reserved) + busyMs));
  return {
    head,
    timeMsOf,
    hurry() {
      const next = head() + 1;
      begin(next, Math.min(nowMs() + busyMs, timeMsOf(next)));
    },
    manual: false,
    mine() {
      throw new Error('blocks come by themselves');
    },
  };
}

/**
 * Makes blocks on request only, for tests. Like the other clock it starts with block 1: tronweb cannot refer to block
 * 0.
 */
export function createManualClock(nowMs: () => number): BlockClock {
  const times = [nowMs(), nowMs()];
  return {
    head: () => times.length - 1,
    timeMsOf: (number) => must(times[number]),
    hurry() {},
    manual: true,
    mine(count) {
      for (let index = 0; index < count; index++) times.push(Math.max(nowMs(), must(times.at(-1))));
    },
  };
}
