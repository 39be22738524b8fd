import { plainError, withoutCredentials, withoutSecrets } from './plain-error.ts';

/** Fields that contain a secret or personal data, at any depth of a line. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  ...['authorization', 'headers', 'body', 'signature', 'token', 'password', 'metadata'],
  ...['api_key', 'apiKey', 'api_secret', 'apiSecret', 'webhook_secret', 'webhookSecret', 'secret'],
  ...['mnemonic', 'master_key', 'masterKey', 'privateKey', 'private_key'],
  ...['description', 'line_items', 'lineItems', 'email', 'success_url', 'cancel_url'],
]);
/** What is logged under these names is an error, whatever somebody threw. */
const ERROR_NAMES: ReadonlySet<string> = new Set(['err', 'error']);
/** What is logged under these names was often taken from an error. */
const REASON_NAMES: ReadonlySet<string> = new Set(['detail', 'reason', 'why', 'fault']);
const CENSORED = '[redacted]';
/** Nothing that is logged on purpose is nested deeper; a value that contains itself ends here, too. */
const MAX_DEPTH = 8;

type Fields = Record<string, unknown>;

/** The fields of a log line. A line whose fields cannot be read, such as through a getter that throws, is still written. */
export function loggedFields(fields: Fields): Fields {
  try {
    return censored(fields);
  } catch {
    return { unreadable: Object.keys(fields).join(', ') };
  }
}

/**
 * The fields of a log line without secrets, and errors without what libraries add to them. Called for every line, so
 * fields that need no change are returned as they are.
 */
function censored(fields: Fields, depth = 0): Fields {
  let copy: Fields | null = null;
  for (const [name, value] of Object.entries(fields)) {
    const shown = depth === 0 && ERROR_NAMES.has(name) ? plainError(value) : censoredValue(name, value, depth + 1);
    if (shown !== value) (copy ??= { ...fields })[name] = shown;
  }
  return copy ?? fields;
}

function censoredValue(name: string, value: unknown, depth: number): unknown {
  if (SECRET_NAMES.has(name)) return CENSORED;
  if (typeof value === 'string') return REASON_NAMES.has(name) ? withoutSecrets(value) : withoutCredentials(value);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (value instanceof Error) return plainError(value);
  if (value instanceof URL) return withoutSecrets(value.href);
  if (depth === MAX_DEPTH || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return CENSORED;
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return censoredValue(name, Reflect.apply(value.toJSON, value, []), depth + 1);
  return Array.isArray(value)
    ? value.map((item) => censoredValue('', item, depth + 1))
    : censored(value as Fields, depth);
}
