import type { NotificationId } from '../values/ids.ts';

/** What every event carries in addition to its data. */
export interface EventMetadata {
  /** Shared by everything that one request or one chain observation caused. */
  readonly correlationId: string;
  /** The event that caused this one. */
  readonly causationId?: string | undefined;
  /** W3C trace context at the time of the decision. */
  readonly traceParent?: string | undefined;
  /** Who decided: `merchant:<id>`, `chain:<network>`, `clock`, `operator`, ... */
  readonly actor: string;
  /** SHA-256 (hex) of the stream's previous event, empty for the first; guarded by the expected revision. */
  readonly prev: string;
  /** `evt_...`, for events that notify a merchant. */
  readonly notificationId?: NotificationId | undefined;
}

/** An event as the core sees it, after decoding and upcasting. */
export interface StoredEvent<Event extends DomainEventShape = DomainEventShape> {
  readonly stream: string;
  readonly revision: number;
  /** Opaque; totally ordered by the store that assigned it. */
  readonly position: string;
  readonly id: string;
  readonly version: number;
  /** Commit time, Unix milliseconds. */
  readonly atMs: number;
  readonly metadata: EventMetadata;
  /** SHA-256 (hex) of the event's canonical bytes. */
  readonly hash: string;
  readonly event: Event;
}

/** What metadata in JSON names as the hash of the previous event, whatever that is; undefined if it cannot be read. */
export function prevOf(metadata: string): unknown {
  try {
    const read: unknown = JSON.parse(metadata);
    return typeof read === 'object' && read !== null && 'prev' in read ? read.prev : undefined;
  } catch {
    return undefined;
  }
}

export interface DomainEventShape {
  readonly type: string;
  readonly data: object;
}
