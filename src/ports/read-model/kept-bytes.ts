/** Bytes stored as a whole to speed up the next start; losing them costs only time. */
export interface KeptBytes {
  /** Null if there are none. */
  load(): Promise<Uint8Array | null>;
  /** Atomic, even across a crash. Each part is requested after the previous one was written. */
  save(parts: Iterable<Uint8Array>): Promise<void>;
}
