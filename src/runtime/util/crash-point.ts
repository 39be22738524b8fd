import { readFileSync } from 'node:fs';

let setting = '';
const FILE = 'file:';
let armed = '';
let left = 0;

/**
 * Named points around the effects of outgoing money at which the crash tests kill the process: `name@n` ends it, like
 * SIGKILL, at the n-th pass; `file:<path>` reads the name from a file each time, so that a running process can be told
 * where to end. Only the sandbox arms them, from `CRASH_AT`; production refuses to start with it.
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
  // The signal arrives before the next statement of this thread has any external effect.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function arm(plan: string): void {
  if (plan === armed) return;
  armed = plan;
  left = Number(plan.split('@')[1] ?? '1');
}
