/**
 * The exclusive right to some work for a limited time. A holder that stalls loses it without noticing, so its writes
 * must be guarded.
 */
export interface Lease {
  readonly name: string;
  /** Increases with every grant of this name; a store that has seen a higher one refuses a lower one. */
  readonly token: number;
  /** Restarts the time. False if the lease was lost: stop at once. */
  renew(): Promise<boolean>;
  /** Lets the next holder in. Does nothing if the lease was lost. */
  release(): Promise<void>;
}

/**
 * Divides work among processes. Losing a lease is always safe, because the expected revision in the event log decides.
 */
export interface Leases {
  /**
   * The lease, or null while another process holds it. Rejects with `StoreUnavailable` when the holder is unknown: then
   * nobody may work.
   */
  acquire(name: string, ttlMs: number): Promise<Lease | null>;
  close(): Promise<void>;
}
