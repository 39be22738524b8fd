import type { JsonValue } from '../../ports/read-model/read-model.ts';

/** `JSON.parse`, whose result has a type. */
export function parseJson(text: string): JsonValue;
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return value;
}
