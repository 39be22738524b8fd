/** Webhooks that have not ended, and endpoints that get none. */
export interface DeliveriesUnderWay {
  readonly waiting: number;
  /** Of the oldest that waits; 0 if none does. */
  readonly oldestAgeSec: number;
  readonly inFlight: number;
  readonly retrying: number;
  /** Endpoints. */
  readonly suspended: number;
}
