import { readFileSync } from 'node:fs';

let setting = '';
const FILE = 'file:';
let armed = '';
let left = 0;

/**
 * Named places around the effects of money out where the crash tests kill the process: `name@n` ends it, as SIGKILL
 * does, at the n-th time it comes by; `file:<path>` reads the name from a file each time, so that a process that
 * already runs can be told where to end. The sandbox alone arms them, from `CRASH_AT`; production refuses to start with
 * it.
 */
export function armCrashPoints(plan: string): void {
  setting = plan;
}

/** Without a plan a call costs one comparison. */
export function crashPoint(name: string): void {
  if (setting === '') return;
  arm(setting.startsWith(FILE) ? readFileSync(setting.slice(FILE.length), 'utf8').trim() : setting);
  if (armed.split('@')[0] !== name) return;
  left -= 1;
  if (left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal is delivered before the next statement of this thread has any effect outside of it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function arm(plan: string): void {
  if (plan === armed) return;
  armed = plan;
  left = Number(plan.split('@')[1] ?? '1');
}
