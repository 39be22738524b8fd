/** The inbox's verdict on a delivery. Only `valid` is answered with 200. */
export type InboxVerdict = 'valid' | 'header_missing' | 'timestamp_refused' | 'signature_wrong';

export interface InboxDelivery {
  readonly receivedAtMs: number;
  readonly verdict: InboxVerdict;
  /** The event id was seen before: retries and replays are normal, and a receiver acts only once. */
  readonly repeated: boolean;
  readonly eventId: string;
  readonly eventType: string;
  readonly timestamp: string;
  readonly nonce: string;
  /** The raw body; truncated when it is very long. */
  readonly body: string;
}
