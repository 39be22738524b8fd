/** Guard of objects that have these fields. */
export const holding =
  <Value extends object>(...names: readonly (keyof Value & string)[]) =>
  (value: unknown): value is Value =>
    typeof value === 'object' && value !== null && names.every((name) => name in value);

/** Reads JSON that this program wrote. Throws for anything that the guard does not accept. */
export function readWritten<Value>(text: string, isValue: (value: unknown) => value is Value): Value {
  const value: unknown = JSON.parse(text);
  if (!isValue(value)) throw new TypeError('the JSON does not hold what was written');
  return value;
}
