/** What the inbox made of a delivery. Only `valid` is answered with 200. */
export type InboxVerdict = 'valid' | 'header_missing' | 'timestamp_refused' | 'signature_wrong';

export interface InboxDelivery {
  readonly receivedAtMs: number;
  readonly verdict: InboxVerdict;
  /** Of an event id that was seen before: retries and replays are normal, a receiver acts once. */
  readonly repeated: boolean;
  readonly eventId: string;
  readonly eventType: string;
  readonly timestamp: string;
  readonly nonce: string;
  /** The raw body; its beginning when it is very long. */
  readonly body: string;
}
