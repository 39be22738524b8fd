import type { ZodType, z } from 'zod';
import { refuse, type Refusal } from '../domain/values/result.ts';
import { must } from '../domain/values/must.ts';

const MAX_PARAM_LENGTH = 200;

export type Validated<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Refusal };

export const refusedField = (param: string, rule: string): { readonly ok: false; readonly refusal: Refusal } => {
  const named = param.slice(0, MAX_PARAM_LENGTH).toWellFormed();
  return refuse('invalid_request', `${named} ${rule}`, named);
};

/**
 * Validates against a schema. The refusal names the first invalid field by its path, such as `line_items[0].quantity`.
 */
export function validate<Schema extends ZodType>(
  schema: Schema,
  value: unknown,
  root: 'body' | 'query',
): Validated<z.output<Schema>> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, refusal: refusalOf(must(result.error.issues[0]), root) };
}

function refusalOf(issue: z.core.$ZodIssue, root: 'body' | 'query'): Refusal {
  const path = root === 'query' ? queryText(issue.path) : pathText(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const param = [path, must(issue.keys[0])].filter(Boolean).join('.').slice(0, MAX_PARAM_LENGTH);
    return { code: 'unknown_field', message: `${param} is not a field of this request`, param };
  }
  const param = (path || root).slice(0, MAX_PARAM_LENGTH);
  const missing = issue.code === 'invalid_type' && issue.input === undefined;
  return {
    code: 'invalid_request',
    message: `${param} ${missing && path !== '' ? `is required and ${ruleOf(issue)}` : ruleOf(issue)}`,
    param,
  };
}

/** Messages of our schemas are rules ("must be ..."); the library's own have another form. */
function ruleOf(issue: z.core.$ZodIssue): string {
  return /^(must|is) /.test(issue.message) ? issue.message : `is not valid: ${issue.message}`;
}

/** A query parameter in its own notation: `metadata[customer]`. */
const queryText = ([name = '', ...keys]: readonly PropertyKey[]): string =>
  `${String(name)}${keys.map((key) => `[${String(key)}]`).join('')}`;

/** A path as in messages: `line_items[0].quantity`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text;
}
