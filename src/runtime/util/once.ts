/**
 * Makes the value when it is first asked for, and keeps it. What `make` throws is thrown, and the next call tries
 * again.
 */
export function once<Value extends object>(make: () => Value): () => Value {
  let made: Value | null = null;
  return () => (made ??= make());
}
