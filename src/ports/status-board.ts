import type { JsonValue } from './read-model.ts';

/**
 * Where a process tells the others how far it is. Everything on it is small and may be lost: it is told again, and what
 * it says is in the ledger before it is told here.
 */
export interface StatusBoard {
  /**
   * Never waits and never throws. A notice with a lower fencing token than the last one about the same is ignored.
   * `lifetimeMs`: it goes when it was not told again for so long; absent where the subjects do not grow with the
   * processes that ever were.
   */
  publish(about: string, token: number, notice: JsonValue, lifetimeMs?: number): void;
  /** The newest notice, a moment old at most; null when there is none. */
  read(about: string): JsonValue | null;
  /** Every notice whose subject begins with the text, by subject. */
  readAll(prefix: string): ReadonlyMap<string, JsonValue>;
  /** Resolves when everything that was told is known here; rejects when nobody answers. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}
