/** The process as this part sees it. */
export interface FailingProcess {
  on(event: 'unhandledRejection' | 'uncaughtException', listener: (error: unknown) => void): unknown;
}

/** A frame of a stack that is not part of Node.js itself. */
const FRAME = /^\s+at (?!.*\(?node:)(.*)$/gm;
const LIBRARY = /[\\/]node_modules[\\/]/;

/**
 * Whether an error that nobody caught comes from a library or the network: the code that made it is not this service's
 * own.
 */
export function isOfDriver(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const first = FRAME.exec(error.stack?.slice(error.stack.indexOf('\n    at ')) ?? '');
  FRAME.lastIndex = 0;
  return first === null || LIBRARY.test(first[1] ?? '');
}

/**
 * No answer of a driver ends the process: drivers fail in promises that nobody awaits and in handlers that nobody can
 * guard, and whoever waits for such an answer has a time limit and asks again. An error of this service's own code still
 * ends it, because nothing is known about its state.
 */
export function surviveDrivers(
  host: FailingProcess,
  tell: (error: Error) => void,
  end: (error: unknown) => void,
): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const)
    host.on(event, (error) => {
      if (error instanceof Error && isOfDriver(error)) tell(error);
      else end(error);
    });
}
