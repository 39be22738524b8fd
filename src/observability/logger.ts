import { pino, type Logger } from 'pino';
import { logContext } from '../runtime/util/log-context.ts';
import { loggedFields } from './censored.ts';
import { withoutSecrets } from './plain-error.ts';
import { RepeatedLines } from './repeated-lines.ts';

export type { Logger };

/** Called for every line from `warn` upwards, with its constant message only. */
export type LogListener = (line: { readonly level: string; readonly message: string; readonly atMs: number }) => void;

const WARN = 40;
const listeners = new WeakMap<object, LogListener[]>();
const contexts = new WeakMap<object, () => object>();

/** Adds the function's result to every line of this logger, such as the trace a line belongs to. */
export function addLogContext(log: object, context: () => object): void {
  contexts.set(log, context);
}

/** Calls the listener for every line of this logger from `warn` upwards. */
export function onLogLine(log: object, listener: LogListener): void {
  listeners.get(log)?.push(listener);
}

/**
 * JSON logs on standard output. Anything that could contain a secret or personal data is replaced by construction:
 * whole headers and bodies are never passed to the logger, fields with such names are censored, and error texts lose
 * whatever looks like a secret as well as the paths of URLs.
 */
export function createLogger(level: string, destination?: { write(line: string): void }): Logger {
  const own: LogListener[] = [];
  const repeated = new RepeatedLines();
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: (): object => ({ ...logContext(), ...contexts.get(log)?.() }),
    formatters: { level: (label: string) => ({ level: label }), log: loggedFields },
    // Errors are plain by then.
    serializers: { err: (error: unknown) => error },
    hooks: {
      logMethod(
        this: Logger,
        args: Parameters<Logger['info']>,
        method: (...given: Parameters<Logger['info']>) => void,
        lineLevel: number,
      ) {
        if (lineLevel >= WARN && own.length > 0) {
          const line = {
            level: pino.levels.labels[lineLevel] ?? String(lineLevel),
            message: messageOf(args),
            atMs: Date.now(),
          };
          for (const listener of own) listener(line);
        }
        const [facts] = args;
        if (lineLevel !== WARN || typeof facts !== 'object' || facts === null) return method.apply(this, args);
        const withheld = repeated.take(messageOf(args), facts);
        if (withheld === null) return;
        method.apply(
          this,
          withheld === 0 ? args : ([{ ...facts, repeated: withheld }, ...args.slice(1)] as unknown as typeof args),
        );
      },
    },
  };
  const log: Logger = destination ? pino(options, destination) : pino(options);
  listeners.set(log, own);
  return log;
}

const messageOf = (args: readonly unknown[]): string => {
  const message = typeof args[0] === 'string' ? args[0] : args[1];
  return typeof message === 'string' ? withoutSecrets(message) : '';
};
