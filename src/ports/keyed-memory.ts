/** Plain data (what JSON can say, and bigints) by key, as much as there is of it: what does not fit into memory lies elsewhere. Gone when it is closed. */
export interface KeyedMemory<Value> {
  /** Keys that were ever set. */
  readonly size: number;
  get(key: string): Value | undefined;
  /** The value must not be changed afterwards. */
  set(key: string, value: Value): void;
  close(): void;
}

export type MakeKeyedMemory = <Value>() => KeyedMemory<Value>;
