/** It can neither store nor answer: its disk is full or gone. Says nothing about the data. */
export class KeyedMemoryFailed extends Error {
  override readonly name = 'KeyedMemoryFailed';
}

/**
 * Plain data (JSON and bigints) by key, in any amount: what does not fit into memory is stored elsewhere. Discarded
 * when closed. `get` and `set` throw `KeyedMemoryFailed`.
 */
export interface KeyedMemory<Value> {
  /** Number of keys ever set. */
  readonly size: number;
  get(key: string): Value | undefined;
  /** The value must not be modified afterwards. */
  set(key: string, value: Value): void;
  close(): void;
}

export type MakeKeyedMemory = <Value>() => KeyedMemory<Value>;
