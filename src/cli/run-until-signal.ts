import { endWithNpm } from './end-with-npm.ts';

/** How long an orderly shutdown may take before the process exits anyway; written data is safe at any moment. */
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
  /** Log lines about the shutdown. */
  readonly tell?: (message: string, facts: object) => void;
}

/**
 * Starts, waits for SIGTERM, SIGINT, SIGHUP (a closing terminal) or `orphaned`, and shuts down in order. It also waits
 * for a start that is still in progress, but no longer than for the shutdown of a running service: catching up after an
 * outage may take minutes. Rejects when the start or the shutdown does.
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
