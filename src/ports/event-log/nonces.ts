import type { CoCommit } from './event-store.ts';

export interface Burnt {
  readonly accepted: boolean;
  readonly coCommit?: CoCommit;
  /** Used nonces may be lost, so this request may be a repetition. */
  readonly mayBeReplay?: boolean;
}

/**
 * Remembers used nonces for 600 s: a timestamp may be 300 s ahead and stays valid for 300 s after that. Scoped to the
 * API key, never to the route.
 */
export interface Nonces {
  /**
   * Burns the nonce; false if it was used before. `durable: 'with-command'` asks for a coCommit to commit with the
   * command's events; adapters without one make the nonce durable before they resolve, as for `'now'`. `mayRepeat`:
   * executing the request again would do no harm, because it only reads or has an idempotency key (default: true
   * without a coCommit). If used nonces may be lost, other requests reject with `StoreUnavailable`.
   */
  burn(
    keyId: string,
    nonce: string,
    nowSec: number,
    durable: 'now' | 'with-command',
    mayRepeat?: boolean,
  ): Promise<Burnt>;
  /** For a `with-command` nonce whose request appended nothing: makes it survive a process kill. */
  settle(keyId: string, nonce: string, nowSec: number): Promise<void>;
  close(): Promise<void>;
}
