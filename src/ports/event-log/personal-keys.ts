import type { CoCommit } from './event-store.ts';

export interface MadeSalt {
  readonly salt: Uint8Array;
  readonly coCommit?: CoCommit;
}

/** Nothing was erased: this process lacks the right to erase. */
export class MayNotErase extends Error {
  override readonly name = 'MayNotErase';
}

/**
 * One 256-bit salt per subject (a session), stored outside the event log. The data key is derived from the master key
 * and the salt, so neither the log nor this store alone reveals anything, and erasing the salt erases the personal
 * data.
 */
export interface PersonalKeys {
  /**
   * A new salt; durable once the coCommit is committed, or already durable without one. Null if the subject is known to
   * be forgotten, which must not get another.
   */
  create(subject: string): Promise<MadeSalt | null>;
  /** Null if it was erased or never created. */
  get(subject: string): Promise<Uint8Array | null>;
  /** Permanently. Rejects with `MayNotErase`. */
  erase(subject: string): Promise<void>;
}
