/**
 * Named places around the effects of a payout where the crash tests kill the process: `CRASH_AT=name@n` ends it, as
 * SIGKILL does, at the n-th time it comes by. Without the variable a call costs one comparison.
 */
const [wanted, nth] = (process.env['CRASH_AT'] ?? '').split('@');
let left = Number(nth ?? '1');

export function crashPoint(name: string): void {
  if (name !== wanted) return;
  left -= 1;
  if (left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal is delivered before the next statement of this thread has any effect outside of it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
