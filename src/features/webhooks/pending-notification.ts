import type { DeliveryScheduled } from '../../domain/events/delivery-events.ts';
import type { CommandContext } from '../../runtime/commands/handler.ts';

/** A notification to send, and the event behind it. */
export interface PendingNotification {
  readonly delivery: DeliveryScheduled['data'];
  readonly context: CommandContext;
}

/** Empty if nobody subscribed. `unreadable`: the event cannot be read, or its session has no valid beginning. */
export type Reading = readonly PendingNotification[] | 'unreadable';
