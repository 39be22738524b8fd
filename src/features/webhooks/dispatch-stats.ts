export interface DispatchStats {
  /** Attempts waiting for an answer. */
  readonly inFlight: number;
  /** Attempts being read, made or recorded, and reads of the backlog. */
  readonly working: number;
  readonly inMemory: number;
  /** Deliveries whose next attempt is due soon. */
  readonly retrying: number;
  /** Merchants with more deliveries than memory holds. */
  readonly overflowing: number;
}
