/**
 * A place for named pieces of bytes, such as a folder or a bucket. Names consist of letters, digits, `.`, `_`, `-` and
 * `/`.
 */
export interface ObjectStore {
  /** Where it is, for people; without any secret. */
  readonly place: string;
  /**
   * Replaces the whole piece or nothing of it; durable when it resolves. Only what this store itself read or wrote last
   * under that name is replaced, and a name that it saw nothing of must be free: rejects otherwise, so that two
   * services never write over each other.
   */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Null when there is none of that name. */
  get(name: string): Promise<Buffer | null>;
  /** The names that begin so, in order. */
  list(prefix: string): Promise<string[]>;
}
