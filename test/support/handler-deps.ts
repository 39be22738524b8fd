import { nodeRandom } from '../../src/adapters/node/random.ts';
import { systemClock, type Clock } from '../../src/ports/clock.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import type { HandlerDeps } from '../../src/runtime/commands/handler.ts';
import { NotificationIds } from '../../src/runtime/commands/notification-ids.ts';

/** What command handlers need, in the only process that writes the store. */
export const handlerDeps = (store: EventStore, clock: Clock = systemClock, node = 0): HandlerDeps => ({
  ...{ store, clock, random: nodeRandom, soleWriter: true },
  notificationIds: new NotificationIds(clock, node),
});
