/** Patterns of secrets in free text: API keys, secrets, extended private keys, credentials in URLs of any scheme. */
const CREDENTIALS: readonly [RegExp, string][] = [
  [/\b((?:sks?|whs)_(?:test|live)_)[A-Za-z0-9_-]{6,}/g, '$1[redacted]'],
  [/\b[xt]prv[1-9A-HJ-NP-Za-km-z]{20,}/g, '[redacted]'],
  [/(\bBearer\s+)\S+/gi, '$1[redacted]'],
  [/(:\/\/)[^\s/@"']+@/g, '$1[redacted]@'],
];
/** Every credential contains one of these. Most texts contain none, and five searches would cost more. */
const MAY_HOLD_CREDENTIALS = /_(?:test|live)_|prv|bearer|:\/\//i;
const URL_PATH = /(https?:\/\/[^\s/"'?]+)[^\s"'),;]*/g;

export const withoutCredentials = (text: string): string =>
  MAY_HOLD_CREDENTIALS.test(text)
    ? CREDENTIALS.reduce((clean, [shape, instead]) => clean.replace(shape, instead), text)
    : text;

/**
 * Replaces everything that looks like a secret and cuts URLs to their host, because paths can contain provider keys.
 */
export const withoutSecrets = (text: string): string => withoutCredentials(text).replace(URL_PATH, '$1/…');

interface PlainError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
  readonly cause?: PlainError | string;
  /** Those of an `AggregateError`. */
  readonly errors?: readonly (PlainError | string)[];
}

const MAX_CAUSES = 4;
const MAX_ERRORS = 5;

/** Only name, message, stack and causes: other fields that libraries add to errors contain requests, and so secrets. */
export function plainError(error: unknown, depth = 0): PlainError | string {
  if (!(error instanceof Error)) return withoutSecrets(textOf(error)).slice(0, 500);
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: withoutSecrets(error.message),
    ...(error.stack !== undefined && { stack: withoutSecrets(error.stack) }),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(error.cause !== undefined && depth < MAX_CAUSES && { cause: plainError(error.cause, depth + 1) }),
    ...(error instanceof AggregateError &&
      depth < MAX_CAUSES && { errors: error.errors.slice(0, MAX_ERRORS).map((one) => plainError(one, depth + 1)) }),
  };
}

/** An object without a prototype has no text. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return typeof thrown;
  }
}
