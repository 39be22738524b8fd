/** Structured log lines (pino's call shape). Never a secret, never personal data. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** For tests and for callers that do not care. */
export const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} };
