/** Bytes that are kept as a whole, to begin with the next time; losing them costs time alone. */
export interface KeptBytes {
  /** Null when there are none. */
  load(): Promise<Uint8Array | null>;
  /** All of them or what was there before, also over a crash. A part is asked for when the one before is written. */
  save(parts: Iterable<Uint8Array>): Promise<void>;
}
