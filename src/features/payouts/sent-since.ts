/** How long transactions have been in flight, even if the system clock is behind their signing time. */
export class SentSince {
  /** The newest transaction of each payout or move, and when this process first saw it. */
  readonly #seen = new Map<string, { readonly txHash: string; readonly atMs: number }>();

  /** Milliseconds; `nowMs` is Unix time. */
  outMs(id: string, last: { readonly txHash: string; readonly signedAtSec: number }, nowMs: number): number {
    const known = this.#seen.get(id);
    const seen = known?.txHash === last.txHash ? known : { txHash: last.txHash, atMs: performance.now() };
    this.#seen.set(id, seen);
    return Math.max(nowMs - last.signedAtSec * 1000, performance.now() - seen.atMs);
  }

  forget(id: string): void {
    this.#seen.delete(id);
  }
}
