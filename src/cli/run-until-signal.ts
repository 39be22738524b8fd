/** How long an orderly end may take before the process ends anyway; what is written is safe at any moment. */
const SHUTDOWN_MS = 10_000;

/** The process as this part sees it. */
export interface SignalledProcess {
  once(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
}

/**
 * Starts, waits for SIGTERM or SIGINT, and ends in order. A start that is still under way is waited for, too, but not for longer than the end
 * of a running service: what catches up after an outage may need minutes. Rejects when the start or the end does.
 */
export async function runUntilSignal(
  start: () => Promise<{ close(): Promise<void> }>,
  host: SignalledProcess = process,
  shutdownMs: number = SHUTDOWN_MS,
): Promise<void> {
  const signalled = new Promise<void>((resolve) => {
    const end = (): void => {
      setTimeout(() => host.exit(1), shutdownMs).unref();
      resolve();
    };
    host.once('SIGTERM', end);
    host.once('SIGINT', end);
  });
  const running = await start();
  await signalled;
  await running.close();
  host.exit(0);
}
