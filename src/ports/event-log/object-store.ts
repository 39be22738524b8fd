/** Storage for named objects, such as a folder or a bucket. Names consist of letters, digits, `.`, `_`, `-` and `/`. */
export interface ObjectStore {
  /** The location, for people, without secrets. */
  readonly place: string;
  /**
   * Replaces the object atomically; durable when it resolves. Only replaces what this store itself last read or wrote
   * under that name, and an unseen name must be free: otherwise rejects, so that two services never overwrite each
   * other.
   */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Null if there is no object with that name. */
  get(name: string): Promise<Buffer | null>;
  /** Names with the prefix, in order. */
  list(prefix: string): Promise<string[]>;
}
