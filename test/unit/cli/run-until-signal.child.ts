import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { runUntilSignal } from '../../../src/cli/run-until-signal.ts';

/* Tells itself to end, while a part of it goes on for half a minute. */

const [part] = process.argv.slice(2);
const SHUTDOWN_MS = 500;
/** Whoever is ready is in the middle of its work so much later. */
const INTO_MS = 500;

async function startThread(work: string): Promise<void> {
  const ready = `require('node:worker_threads').parentPort.postMessage('ready');`;
  await once(new Worker(`${ready} ${work}`, { eval: true }), 'message');
  await sleep(INTO_MS);
}

const start = async (): Promise<{ close(): Promise<void> }> => {
  if (part === 'thread in a long call') await startThread(`require('node:child_process').spawnSync('sleep', ['30'])`);
  if (part === 'idle thread') await startThread('setInterval(() => undefined, 1_000)');
  // As the server of a service does, it keeps the process alive.
  setInterval(() => undefined, 1_000);
  process.kill(process.pid, 'SIGTERM');
  return {
    close: async () => {
      const untilMs = performance.now() + 30_000;
      while (part === 'busy main thread' && performance.now() < untilMs);
    },
  };
};

await runUntilSignal(start, { shutdownMs: SHUTDOWN_MS, orphaned: () => undefined });
