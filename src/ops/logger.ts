import { pino, type Logger } from 'pino';

export type { Logger };

/**
 * JSON logs on standard output. Anything that could carry a secret or a person's data is replaced by its name alone, by
 * construction: whole headers and bodies are never given to the logger.
 */
export function createLogger(level: string): Logger {
  return pino({
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ['authorization', 'api_key', 'api_secret', 'webhook_secret', 'secret', 'mnemonic', 'master_key', 'password', 'token'].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: '[redacted]',
    },
  });
}
