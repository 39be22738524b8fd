import type { CoCommit } from './event-store.ts';

/**
 * One 256-bit salt per subject (a session), kept outside the log. The data key is derived from the master key and the
 * salt, so neither the log nor this store alone reveals anything, and erasing the salt erases the personal data.
 */
export interface PersonalKeys {
  /**
   * A new salt; durable when the coCommit is committed, or already durable when there is none. `renewed`: it is durable, and the subject
   * had another one that was erased.
   */
  create(subject: string): Promise<{ salt: Uint8Array; coCommit?: CoCommit; renewed?: boolean }>;
  /** Null when it was erased or never made. */
  get(subject: string): Promise<Uint8Array | null>;
  erase(subject: string): Promise<void>;
}
