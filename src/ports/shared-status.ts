import type { JsonValue } from './read-model/read-model.ts';

/**
 * Where a process publishes its progress for the others. Entries are small and may be lost: they are published again,
 * and their contents are in the event log beforehand.
 */
export interface SharedStatus {
  /**
   * Never waits and never throws. A notice with a lower fencing token than the last one for the same subject is
   * ignored. `lifetimeMs`: it expires unless it is published again; absent where subjects do not multiply with
   * processes.
   */
  publish(about: string, token: number, notice: JsonValue, lifetimeMs?: number): void;
  /** The newest notice, at most a moment old; null if there is none. */
  read(about: string): JsonValue | null;
  /** Every notice whose subject has the prefix, by subject. */
  readAll(prefix: string): ReadonlyMap<string, JsonValue>;
  /** Resolves when everything published is known here; rejects when nothing answers. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}
