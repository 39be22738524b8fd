import type { NotificationId } from '../../domain/values/ids.ts';

export interface DeliveryAnswer {
  readonly notificationId: NotificationId;
  readonly attempt: number;
  readonly atMs: number;
  /** As received, at most 4 KB. */
  readonly body: Uint8Array;
}

/** Endpoints' answers, kept for a while to help merchants; the event log has only their hashes. */
export interface DeliveryAnswers {
  /** Never waits; a crash may lose the last moments. */
  keep(answer: DeliveryAnswer): void;
  /** By attempt, without attempts whose answer was empty or has expired. */
  of(notificationId: NotificationId): Promise<ReadonlyMap<number, Uint8Array>>;
  close(): Promise<void>;
}
