import { endWithNpm } from './end-with-npm.ts';

/** How long an orderly end may take before the process ends anyway; what is written is safe at any moment. */
const SHUTDOWN_MS = 10_000;

/** The process as this part sees it. */
export interface SignalledProcess {
  once(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): unknown;
  exit(code: number): void;
}

export interface UntilSignalOptions {
  readonly host?: SignalledProcess;
  readonly shutdownMs?: number;
  readonly orphaned?: (end: () => void) => void;
  /** Lines of the log about the end. */
  readonly tell?: (message: string, facts: object) => void;
}

/**
 * Starts, waits for SIGTERM, SIGINT or SIGHUP (a terminal that closes), or for `orphaned`, and ends in order. A start
 * that is still under way is waited for, too, but not for longer than the end of a running service: what catches up
 * after an outage may need minutes. Rejects when the start or the end does.
 */
export async function runUntilSignal(
  start: () => Promise<{ close(): Promise<void> }>,
  { host = process, shutdownMs = SHUTDOWN_MS, orphaned = endWithNpm, tell = () => undefined }: UntilSignalOptions = {},
): Promise<void> {
  const signalled = new Promise<string>((resolve) => {
    const end = (reason: string): void => {
      setTimeout(() => host.exit(1), shutdownMs).unref();
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
  tell('the service has ended', {});
  host.exit(0);
}
