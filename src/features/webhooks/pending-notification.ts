import type { DeliveryScheduled } from '../../domain/events/delivery-events.ts';
import type { CommandContext } from '../../runtime/commands/handler.ts';

/** What is to be notifications, and which event it comes from. */
export interface PendingNotification {
  readonly delivery: DeliveryScheduled['data'];
  readonly context: CommandContext;
}

/** Nothing where nobody asked for it. `unreadable`: it is unreadable, or its session does not begin as sessions do. */
export type Reading = readonly PendingNotification[] | 'unreadable';
