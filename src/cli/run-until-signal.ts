import { endWithNpm } from './end-with-npm.ts';

/** How long an orderly end may take before the process ends anyway; what is written is safe at any moment. */
const SHUTDOWN_MS = 10_000;

/** The process as this part sees it. */
export interface SignalledProcess {
  once(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): unknown;
  exit(code: number): void;
}

/**
 * Starts, waits for SIGTERM, SIGINT or SIGHUP (a terminal that closes), or for `orphaned`, and ends in order. A start that is still under way is waited for, too, but not for longer than the end
 * of a running service: what catches up after an outage may need minutes. Rejects when the start or the end does.
 */
export async function runUntilSignal(
  start: () => Promise<{ close(): Promise<void> }>,
  host: SignalledProcess = process,
  shutdownMs: number = SHUTDOWN_MS,
  orphaned: (end: () => void) => void = endWithNpm,
): Promise<void> {
  const signalled = new Promise<void>((resolve) => {
    const end = (): void => {
      setTimeout(() => host.exit(1), shutdownMs).unref();
      resolve();
    };
    host.once('SIGTERM', end);
    host.once('SIGINT', end);
    host.once('SIGHUP', end);
    orphaned(end);
  });
  const running = await start();
  await signalled;
  await running.close();
  host.exit(0);
}
