import { Worker } from 'node:worker_threads';
import { endWithNpm } from './end-with-npm.ts';
import { type FailingProcess, surviveDrivers } from '../runtime/util/driver-failures.ts';

/** How long an orderly shutdown may take before the process is killed; written data is safe at any moment. */
const SHUTDOWN_MS = 9_500;

/** The process as this part sees it. */
export type SignalledProcess = FailingProcess & {
  once(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): unknown;
  on(event: 'worker', listener: (thread: Worker) => void): unknown;
  exit(code: number): void;
};

export interface UntilSignalOptions {
  readonly host?: SignalledProcess;
  readonly shutdownMs?: number;
  /** Kills the process; calls `survived` if that had no effect. */
  readonly killAfter?: (ms: number, survived: () => void) => void;
  readonly orphaned?: (end: () => void) => void;
  /** Log lines about the shutdown. */
  readonly tell?: (message: string, facts: object) => void;
  /** Called with what a driver threw where nobody could catch it. */
  readonly onDriverFailure?: (error: Error) => void;
}

/**
 * Starts, waits for SIGTERM, SIGINT, SIGHUP (a closing terminal) or `orphaned`, and shuts down in order. It also waits
 * for a start that is still in progress, but no longer than for the shutdown of a running service: catching up after an
 * outage may take minutes. Rejects when the start or the shutdown does.
 */
export async function runUntilSignal(
  start: () => Promise<{ close(): Promise<void> }>,
  {
    host = process,
    shutdownMs = SHUTDOWN_MS,
    killAfter = killFromThread,
    orphaned = endWithNpm,
    tell = () => undefined,
    onDriverFailure = printFailure,
  }: UntilSignalOptions = {},
): Promise<void> {
  surviveDrivers(host, onDriverFailure, (error) => {
    process.stderr.write(`${stackOf(error)}\n`);
    host.exit(1);
  });
  const threads = new Set<Worker>();
  let isEnding = false;
  host.on('worker', (thread) => {
    if (isEnding) return;
    threads.add(thread);
    thread.once('exit', () => threads.delete(thread));
  });
  const signalled = new Promise<string>((resolve) => {
    const end = (reason: string): void => {
      isEnding = true;
      killAfter(shutdownMs, () => host.exit(1));
      resolve(reason);
    };
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) host.once(signal, () => end(signal));
    orphaned(() => end('the npm that started it ended'));
  });
  const startedMs = performance.now();
  const running = await start();
  const reason = await signalled;
  tell('the service ends', { reason, upSec: Math.round((performance.now() - startedMs) / 1000) });
  await running.close();
  // The exit itself would wait for a thread in the middle of a query, and nothing could cut that short.
  await Promise.all([...threads].map((thread) => thread.terminate()));
  tell('the service has ended', {});
  host.exit(0);
}

const printFailure = (error: Error): void => void process.stderr.write(`a driver failed: ${stackOf(error)}\n`);

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

const KILL = `const { parentPort, workerData } = require('node:worker_threads');
setTimeout(() => {
  process.kill(process.pid, 'SIGKILL');
  parentPort.postMessage('survived');
}, Number(workerData - process.hrtime.bigint()) / 1e6)`;

/**
 * Kills this process, also while its main thread is busy. Only the first process of a container survives that. An exit
 * before the kill would end the killing thread and then wait for the others, however long they take.
 */
function killFromThread(ms: number, survived: () => void): void {
  const deadline = process.hrtime.bigint() + BigInt(ms) * 1_000_000n;
  const thread = new Worker(KILL, { eval: true, name: 'end', workerData: deadline, execArgv: [], env: {} });
  thread.once('message', survived).once('error', survived).unref();
}
