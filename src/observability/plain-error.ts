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
