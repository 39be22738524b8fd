import { addressFamilyOf } from '../domain/networks/networks.ts';
import { SESSION_PREFIX, sessionOfStream } from '../domain/values/streams.ts';
import type { EventStore, Subscription } from '../ports/event-log/event-store.ts';
import type { ReadModel } from '../ports/read-model/read-model.ts';
import { rowPages } from '../ports/read-model/row-pages.ts';
import type { GivenAddresses } from '../features/addresses/given-addresses.ts';
import type { SessionChanges } from '../features/sessions/changes.ts';
import type { DueSessions } from '../features/sessions/due.ts';
import { decodeEvent } from '../runtime/commands/codec.ts';
import type { NotificationIds } from '../runtime/commands/notification-ids.ts';
import { seedFrom } from '../runtime/projections/whole-rows.ts';
import { DUE_SESSIONS_TABLE } from '../../projections/sessions/due-sessions.ts';
import { sessionView as sessionProjection } from '../../projections/sessions/session-view.projection.ts';

const SCAN_PAGE = 5_000;

interface FollowedPorts {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly soleWriter: boolean;
}

interface Followers {
  readonly due: DueSessions;
  readonly changes: SessionChanges;
  readonly given: GivenAddresses;
  readonly notificationIds: NotificationIds;
}

/**
 * Fills the in-memory look-ups from the read model and follows the event log from there, so that nothing in between is
 * missed.
 */
export async function followEventLog(
  { store, readModel }: FollowedPorts,
  { due, changes, given, notificationIds }: Followers,
): Promise<Subscription[]> {
  const addressesAfter = await given.start();
  const dueAfter = await seedFrom(readModel, sessionProjection, async () => {
    for await (const page of rowPages(readModel, DUE_SESSIONS_TABLE, { limit: SCAN_PAGE }))
      for (const { row } of page) {
        const { sessionId, mode, networks, expiresAtSec } = row;
        due.add({ sessionId, mode, networks, expiresAtSec });
      }
  });
  const addresses = await subscribed(store, 'address-index-in-memory', addressesAfter, (stored) => {
    if (stored.event.type !== 'SessionCreated') return;
    const { mode, sessionId, paymentOptions } = stored.event.data;
    for (const { network, address } of paymentOptions) given.add(mode, addressFamilyOf(network), address, sessionId);
  });
  const sessions = await subscribed(store, 'due-sessions-in-memory', dueAfter, (stored) => {
    due.apply(stored);
    if (stored.metadata.notificationId !== undefined) notificationIds.seen(stored.metadata.notificationId);
    const id = sessionOfStream(stored.stream);
    if (id !== null) changes.emit(id);
    // Its page leads to the new attempt from now on.
    if (stored.event.type === 'SessionCreated' && stored.event.data.supersedes !== undefined)
      changes.emit(stored.event.data.supersedes);
  });
  return [addresses, sessions];
}

/** If no other process appends, everything this process wrote is already known here. */
export async function caughtUpWith({ store, soleWriter }: FollowedPorts, subscription: Subscription): Promise<void> {
  if (soleWriter) return;
  const head = await store.head();
  if (head !== null) await subscription.reached(head);
}

/** Resolves once everything there is was delivered. */
function subscribed(
  store: EventStore,
  name: string,
  after: string | null,
  take: (stored: ReturnType<typeof decodeEvent>) => void,
): Promise<Subscription> {
  return new Promise((resolve) => {
    const subscription = store.subscribe({
      name,
      after,
      streamPrefixes: [SESSION_PREFIX],
      onEvents: (events) => events.forEach((event) => take(decodeEvent(event))),
      onCaughtUp: () => setImmediate(() => resolve(subscription)),
    });
  });
}
