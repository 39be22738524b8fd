/**
 * What the code around guarantees and its types cannot say. That it is absent is a bug: the work at hand ends there,
 * rather than going on with a hole.
 */
export function must<Value>(value: Value): NonNullable<Value> {
  if (value === undefined || value === null) throw new Error('what must be there is absent: this is a bug');
  return value;
}
