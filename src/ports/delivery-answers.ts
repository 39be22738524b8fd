import type { NotificationId } from '../domain/ids.ts';

export interface DeliveryAnswer {
  readonly notificationId: NotificationId;
  readonly attempt: number;
  readonly atMs: number;
  /** As received, at most 4 KB. */
  readonly body: Uint8Array;
}

/** What endpoints answered, kept for a while to help merchants; the ledger holds only the hash. */
export interface DeliveryAnswers {
  /** Never waits; losing the last moments in a crash is accepted. */
  keep(answer: DeliveryAnswer): void;
  /** By attempt; attempts whose answer was empty or has expired are missing. */
  of(notificationId: NotificationId): Promise<ReadonlyMap<number, Uint8Array>>;
  close(): Promise<void>;
}
