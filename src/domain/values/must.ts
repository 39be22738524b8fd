/**
 * Asserts a value that the surrounding code guarantees but its types cannot express. A missing value is a bug: the
 * current work fails instead of continuing without it.
 */
export function must<Value>(value: Value): NonNullable<Value> {
  if (value === undefined || value === null) throw new Error('what must be there is absent: this is a bug');
  return value;
}
