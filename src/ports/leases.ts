/**
 * The right to do one piece of work alone for a while. A holder that stalls loses it without noticing: what it writes
 * must be guarded.
 */
export interface Lease {
  readonly name: string;
  /** Grows with every grant of this name; a store that saw a higher one refuses a lower one. */
  readonly token: number;
  /** Counts the time anew. False when it was lost: stop at once. */
  renew(): Promise<boolean>;
  /** Lets the next one in. Does nothing when it was lost. */
  release(): Promise<void>;
}

/** Divides work among processes. Losing a lease is always safe, since the ledger's expected revision decides. */
export interface Leases {
  /**
   * The lease, or null while somebody else has it. Rejects with `StoreUnavailable` when nobody can tell: then nobody
   * may work.
   */
  acquire(name: string, ttlMs: number): Promise<Lease | null>;
  close(): Promise<void>;
}
