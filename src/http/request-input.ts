import type { Route } from './operation.ts';
import { parseStrictJson } from './strict-json.ts';
import { refusedField, validate, type Validated } from './validation.ts';

/* Body and query of a request, as its operation takes them. */

export const NOTHING: Validated<unknown> = { ok: true, value: undefined };

export function bodyOf(operation: Route['operation'], bytes: Buffer): Validated<unknown> {
  if (operation.method === 'get') return NOTHING;
  if (bytes.length === 0 && operation.bodyRequired !== true) return { ok: true, value: {} };
  if (bytes.length === 0) return refusedField('body', 'must be a JSON object');
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok) return parsed;
  return operation.body === undefined ? parsed : validate(operation.body, parsed.value, 'body');
}

export function queryOf(schema: NonNullable<Route['operation']['query']>, url: string): Validated<unknown> {
  const mark = url.indexOf('?');
  const values = Object.create(null) as Record<string, string | Record<string, string>>;
  for (const [name, value] of new URLSearchParams(mark < 0 ? '' : url.slice(mark))) {
    if (!value.isWellFormed() || value.includes('\uFFFD')) return refusedField(name, 'must be valid UTF-8');
    const [, outer, key] = WITHIN.exec(name) ?? [];
    if (outer !== undefined && key === '__proto__') return refusedField(name, 'is not an allowed key');
    const within = outer === undefined ? values : (values[outer] ??= {});
    if (typeof within === 'string' || Object.hasOwn(within, key ?? name))
      return refusedField(name, 'must be given once');
    within[key ?? name] = value;
  }
  return validate(schema, { ...values }, 'query');
}

/** A parameter with a key of the caller's: `metadata[customer]`. */
export const WITHIN = /^(\w+)\[(.*)\]$/s;
