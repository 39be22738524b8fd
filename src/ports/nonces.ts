import type { CoCommit } from './event-store.ts';

export interface Burnt {
  readonly accepted: boolean;
  readonly coCommit?: CoCommit;
  /** Used nonces may have been forgotten, so this request may be one that was done before. */
  readonly mayBeReplay?: boolean;
}

/**
 * Remembers used nonces for 600 s: a timestamp may be 300 s ahead and stays valid for 300 s after that.
 * Scoped to the API key, never to the route.
 */
export interface Nonces {
  /**
   * Burns the nonce; false when it was used before. `durable: 'with-command'` asks for a coCommit to be committed with
   * the command's events; adapters that cannot give one make the nonce durable before they answer, as for `'now'`.
   * `mayRepeat`: doing the request again would do no harm, since it only reads or carries an idempotency key (default:
   * whether nothing rides with it). Where used nonces may have been forgotten, other requests reject with
   * `StoreUnavailable`.
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
