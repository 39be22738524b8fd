import type { JsonValue } from '../ports/read-model/read-model.ts';

/** Prints an answer: as JSON, or as lines for people. */
export function print(value: JsonValue, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(value, null, 2)}\n` : `${lines(value, '').join('\n')}\n`);
}

/** Control characters and terminal escapes of foreign text must not reach the terminal. */
// oxlint-disable-next-line no-control-regex
export const inert = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');

function lines(value: JsonValue, indent: string): string[] {
  if (isList(value))
    return value.length === 0
      ? [`${indent}(none)`]
      : value.flatMap((item, index) => [...(index > 0 && isObject(item) ? [''] : []), ...lines(item, indent)]);
  if (!isObject(value)) return [`${indent}${text(value)}`];
  const entries = Object.entries(value);
  const width = Math.max(...entries.map(([key]) => key.length), 0);
  return entries.flatMap(([key, field]) =>
    isObject(field) || isList(field)
      ? [`${indent}${inert(key)}:`, ...lines(field, `${indent}  `)]
      : [`${indent}${inert(key).padEnd(width)}  ${timeText(key, field) ?? text(field)}`],
  );
}

const text = (value: JsonValue): string =>
  value === null ? '-' : inert(typeof value === 'string' ? value : JSON.stringify(value));

/** Fields that hold a time, with the number of their units per second. */
const TIMES: readonly (readonly [RegExp, number])[] = [
  [/(_at|_time|AtSec)$/, 1],
  [/AtMs$/, 1000],
];

/** A Unix time in readable form; null for everything else. */
function timeText(key: string, value: JsonValue): string | null {
  const perSecond = TIMES.find(([name]) => name.test(key))?.[1];
  if (perSecond === undefined || typeof value !== 'number' || value <= 0) return null;
  return `${new Date((value * 1000) / perSecond).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

export const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

export function isObject(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
