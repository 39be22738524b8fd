/** Structured log lines (pino's call signature), without secrets or personal data. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** For tests and for callers without a log. */
export const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} };
