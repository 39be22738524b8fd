/** Creates the value on first use and caches it. If `make` throws, the next call retries. */
export function once<Value extends object>(make: () => Value): () => Value {
  let made: Value | null = null;
  return () => (made ??= make());
}
