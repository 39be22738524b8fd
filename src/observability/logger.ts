import { pino, type Logger } from 'pino';
import { logContext } from '../runtime/util/log-context.ts';
import { RepeatedLines } from './repeated-lines.ts';

export type { Logger };

/** Called for every line from `warn` upwards, with its constant message only. */
export type LogListener = (line: { readonly level: string; readonly message: string; readonly atMs: number }) => void;

const WARN = 40;
/** Fields that contain a secret or personal data, at any depth of a line. */
const SECRET_NAMES = [
  'authorization',
  'api_key',
  'apiKey',
  'api_secret',
  'apiSecret',
  'webhook_secret',
  'webhookSecret',
  'secret',
  'signature',
  'mnemonic',
  'master_key',
  'masterKey',
  'privateKey',
  'private_key',
  'password',
  'token',
  'headers',
  'body',
  'metadata',
  'description',
  'line_items',
  'lineItems',
  'email',
  'success_url',
  'cancel_url',
];
/**
 * Patterns of secrets in free text, such as error messages: API keys, secrets, extended private keys, credentials in
 * URLs.
 */
const SECRET_SHAPES: readonly [RegExp, string][] = [
  [/\b((?:sks?|whs)_(?:test|live)_)[A-Za-z0-9_-]{6,}/g, '$1[redacted]'],
  [/\b[xt]prv[1-9A-HJ-NP-Za-km-z]{20,}/g, '[redacted]'],
  [/(\bBearer\s+)\S+/gi, '$1[redacted]'],
  [/(https?:\/\/)[^\s/@"']+@/g, '$1[redacted]@'],
  [/(https?:\/\/[^\s/"'?]+)[^\s"'),;]*/g, '$1/…'],
];

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
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
    serializers: { err: plainError, error: plainError },
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

/**
 * Replaces everything that looks like a secret and cuts URLs to their host, because paths can contain provider keys.
 */
export function withoutSecrets(text: string): string {
  return SECRET_SHAPES.reduce((clean, [shape, instead]) => clean.replace(shape, instead), text);
}

interface PlainError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
  readonly cause?: PlainError | string;
}

const MAX_CAUSES = 4;

/** Only name, message, stack and causes: other fields that libraries add to errors contain requests, and so secrets. */
export function plainError(error: unknown, depth = 0): PlainError | string {
  if (!(error instanceof Error)) return withoutSecrets(String(error)).slice(0, 500);
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: withoutSecrets(error.message),
    ...(error.stack !== undefined && { stack: withoutSecrets(error.stack) }),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(error.cause !== undefined && depth < MAX_CAUSES && { cause: plainError(error.cause, depth + 1) }),
  };
}
