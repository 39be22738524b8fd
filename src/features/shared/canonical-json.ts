import { must } from '../../domain/values/must.ts';

/** JSON text with sorted object keys at every depth, so that equal requests give equal text. Omits undefined fields. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const key of inOrder(Object.keys(fields))) {
    const field = fields[key];
    if (field !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(field)}`;
  }
  return `{${text}}`;
}

const FEW = 16;

/**
 * Sorts in place by UTF-16 code units. Nearly all objects have few keys, which sort faster without the setup of a
 * general sort.
 */
function inOrder(keys: string[]): string[] {
  if (keys.length > FEW) return keys.sort();
  for (let end = 1; end < keys.length; end += 1) {
    const key = must(keys[end]);
    let at = end;
    for (; at > 0 && must(keys[at - 1]) > key; at -= 1) keys[at] = must(keys[at - 1]);
    keys[at] = key;
  }
  return keys;
}
