import { readdirSync, readFileSync } from 'node:fs';

/**
 * Names of V8's and libuv's own threads, by the name the system shows (15 characters); ours are named where they are
 * started.
 */
const GROUPS: Readonly<Record<string, string>> = {
  MainThread: 'main thread',
  V8Worker: "V8's helpers",
  DelayedTaskSche: "V8's helpers",
  'libuv-worker': 'libuv',
  SignalInspector: 'inspector',
};

/** CPU time of a process so far in microseconds by thread, threads of one name together. Linux only: null elsewhere. */
export function threadClocksUs(pid: number): ReadonlyMap<string, number> | null {
  if (process.platform !== 'linux') return null;
  const clocks = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const read = (file: string): string => readFileSync(`/proc/${pid}/task/${thread}/${file}`, 'utf8').trim();
    // The first of the three is nanoseconds on a processor (Documentation/scheduler/sched-stats.rst).
    const us = Number(read('schedstat').split(' ')[0]) / 1000;
    const name = Number(thread) === pid ? 'MainThread' : read('comm');
    const group = GROUPS[name] ?? name;
    clocks.set(group, (clocks.get(group) ?? 0) + us);
  }
  return clocks;
}

/** What each thread spent between two readings, for one of `count` things, largest first. */
export function spentUs(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  count: number,
): [string, number][] {
  const spent = [...after].map(([name, us]): [string, number] => [name, (us - (before.get(name) ?? 0)) / count]);
  return spent.sort(([, one], [, other]) => other - one);
}
