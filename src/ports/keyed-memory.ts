/** It can neither keep nor answer: its disk is full, or gone. Says nothing about what it was to keep. */
export class KeyedMemoryFailed extends Error {
  override readonly name = 'KeyedMemoryFailed';
}

/**
 * Plain data (what JSON can say, and bigints) by key, as much as there is of it: what does not fit into memory lies
 * elsewhere. Gone when it is closed.
 * `get` and `set` throw `KeyedMemoryFailed`.
 */
export interface KeyedMemory<Value> {
  /** Keys that were ever set. */
  readonly size: number;
  get(key: string): Value | undefined;
  /** The value must not be changed afterwards. */
  set(key: string, value: Value): void;
  close(): void;
}

export type MakeKeyedMemory = <Value>() => KeyedMemory<Value>;
