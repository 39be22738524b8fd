import type { CoCommit } from './event-store.ts';

export interface MadeSalt {
  readonly salt: Uint8Array;
  readonly coCommit?: CoCommit;
}

/** Nothing was erased: this process was not given the right to. */
export class MayNotErase extends Error {
  override readonly name = 'MayNotErase';
}

/**
 * One 256-bit salt per subject (a session), kept outside the log. The data key is derived from the master key and the
 * salt, so neither the log nor this store alone reveals anything, and erasing the salt erases the personal data.
 */
export interface PersonalKeys {
  /**
   * A new salt; durable when the coCommit is committed, or already durable when there is none. Null where the subject
   * is known to have been forgotten: it is given no other.
   */
  create(subject: string): Promise<MadeSalt | null>;
  /** Null when it was erased or never made. */
  get(subject: string): Promise<Uint8Array | null>;
  /** For ever. Rejects with `MayNotErase`. */
  erase(subject: string): Promise<void>;
}
