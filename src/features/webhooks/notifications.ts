import { deliveryIdOf } from '../../domain/notifications/delivery-ids.ts';
import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { StoredEvent } from '../../domain/events/envelope.ts';
import { isOfSession } from '../../domain/events/of-streams.ts';
import {
  isNoticedType,
  isNotifyingType,
  noticeNotification,
  notificationOf,
  withDetails,
  type Notice,
  type Notification,
  type NotificationDetails,
  type NotifyingEvent,
  type SessionFacts,
} from '../../domain/notifications/notifications.ts';
import { isOptionalType } from '../../domain/notifications/types.ts';
import { sessionTable } from '../shared/handlers/session-handler.ts';
import type { SessionState } from '../../../state-machines/checkout-session/session.decider.ts';
import { detailsOf, noticeOf } from '../../../state-machines/checkout-session/notices.ts';
import type { EndpointDirectory, Subscription } from '../../ports/webhooks/endpoint-directory.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { Clock } from '../../ports/clock.ts';
import { decodeOrNull } from './decode.ts';
import type { PendingNotification, Reading } from './pending-notification.ts';
import { isOfSettings, SettingsNotifications } from './settings-notifications.ts';
import { RecentMap } from '../../runtime/util/recent-map.ts';

const ACTOR = 'process:deliver-webhooks';
/**
 * Facts of at least this many sessions are kept, and of at most twice as many: half an hour at a busy shop. Every
 * session causes at least one notification.
 */
const KEPT_FACTS = 25_000;
const KEPT_STATES = 1_000;

export const isNotifying = (recorded: RecordedEvent): boolean =>
  isOfSettings(recorded) ||
  (recorded.stream.startsWith('session-') && (isNotifyingType(recorded.type) || isNoticedType(recorded.type)));

const isNotifyingEvent = (event: DomainEvent): event is NotifyingEvent => isNotifyingType(event.type);

/** The session at the time of an event's commit, and what that means apart from outcomes. */
interface Moment {
  readonly notice: Notice | null;
  readonly details: NotificationDetails;
}

/** A session up to and including the revision. */
interface Followed {
  readonly revision: number;
  readonly state: SessionState;
}

const BEGINNING: Followed = { revision: -1, state: sessionTable.initial };

/** Turns session events into notifications for their merchants. */
export class NotificationReader {
  readonly #store: EventStore;
  readonly #directory: EndpointDirectory;
  readonly #clock: Clock;
  readonly #facts = new RecentMap<string, SessionFacts>(KEPT_FACTS);
  /** So that a session is not replayed from its beginning for each of its events. */
  readonly #states = new RecentMap<string, Followed>(KEPT_STATES);
  /** Sessions of those current events for which a merchant subscribed to more than the event contains; by event id. */
  #moments: ReadonlyMap<string, Moment> = new Map();
  readonly #settings: SettingsNotifications;
  /** Notifications of the current merchant events, by event id. */
  #ofSettings: ReadonlyMap<string, Reading> = new Map();

  constructor(deps: { readonly store: EventStore; readonly directory: EndpointDirectory; readonly timers: Clock }) {
    this.#store = deps.store;
    this.#directory = deps.directory;
    this.#clock = deps.timers;
    this.#settings = new SettingsNotifications(deps);
  }

  /** Keeps the facts of a new session for later notifications. */
  remember(beginning: RecordedEvent): void {
    const facts = factsOf(beginning);
    if (!facts) return;
    this.#facts.set(beginning.stream, facts);
  }

  /**
   * Loads what `read` needs: the first events of sessions that are no longer remembered, and the sessions of events
   * with subscribed details.
   */
  async recall(events: readonly RecordedEvent[]): Promise<void> {
    const ofSettings = events
      .filter(isOfSettings)
      .map(async (recorded) => [recorded.id, await this.#settings.read(recorded)] as const);
    this.#ofSettings = new Map(await Promise.all(ofSettings));
    const notifying = events.filter((recorded) => !isOfSettings(recorded));
    const unknown = notifying.filter(({ stream }) => this.#facts.get(stream) === undefined);
    if (unknown.length > 0)
      await Promise.all([...new Set(unknown.map(({ stream }) => stream))].map((stream) => this.#recall(stream)));
    const wanted = notifying.filter((recorded) => this.#needsSession(recorded));
    const moments = [...Map.groupBy(wanted, ({ stream }) => stream)].map(([stream, of]) => this.#momentsOf(stream, of));
    this.#moments = new Map((await Promise.all(moments)).flatMap((found) => [...found]));
  }

  /** The notifications of an event, after `recall` has seen it. Every subscribed endpoint receives the same event. */
  read(recorded: RecordedEvent): Reading {
    if (isOfSettings(recorded)) return this.#ofSettings.get(recorded.id) ?? 'unreadable';
    const isNotice = isNoticedType(recorded.type);
    const needsSession = this.#needsSession(recorded);
    if (isNotice && !needsSession) return [];
    const stored = decodeOrNull(recorded);
    const facts = stored && this.#facts.get(recorded.stream);
    const notificationId = stored?.metadata.notificationId;
    if (!facts || notificationId === undefined) return 'unreadable';
    const moment = this.#moments.get(recorded.id);
    if (needsSession && moment === undefined) return 'unreadable';
    const notice = moment?.notice;
    if (isNotice && !notice) return [];
    const { atMs, event } = stored;
    const notification = notice
      ? noticeNotification(notificationId, atMs, notice, facts)
      : isNotifyingEvent(event) && notificationOf(notificationId, atMs, event, facts);
    if (!notification) return 'unreadable';
    return this.#directory
      .subscriptionsOf(facts.merchantId)
      .filter(({ types }) => types.has(notification.type))
      .map((subscription) => this.#pending(notification, subscription, moment?.details ?? {}, stored));
  }

  #pending(
    { notificationId, type: eventType, merchantId, mode, sessionId, body }: Notification,
    { furtherEndpointId, fields }: Subscription,
    details: NotificationDetails,
    stored: StoredEvent<DomainEvent>,
  ): PendingNotification {
    const delivery = {
      ...{ notificationId: deliveryIdOf(notificationId, furtherEndpointId), merchantId, mode, eventType, sessionId },
      endpointId: furtherEndpointId ?? this.#directory.endpointOf(merchantId)?.endpointId ?? '',
      body: withDetails(body, details, fields),
      scheduledAtMs: this.#clock.nowMs(),
    };
    return {
      delivery,
      context: { correlationId: stored.metadata.correlationId, causationId: stored.id, actor: ACTOR },
    };
  }

  /** Whether the session's merchant subscribed to something that the event alone does not contain. */
  #needsSession({ stream, type }: RecordedEvent): boolean {
    const facts = this.#facts.get(stream);
    if (facts === undefined) return false;
    const isNotice = isNoticedType(type);
    return this.#directory
      .subscriptionsOf(facts.merchantId)
      .some(({ types, fields }) => (isNotice ? [...types].some(isOptionalType) : fields.length > 0));
  }

  /**
   * By event id. Derived from the session at each event's commit, so that the result is the same however often it is
   * read. Without those from an unreadable event on.
   */
  async #momentsOf(stream: string, wanted: readonly RecordedEvent[]): Promise<ReadonlyMap<string, Moment>> {
    const revisions = wanted.map(({ revision }) => revision);
    const kept = this.#states.get(stream);
    let followed = kept && kept.revision < Math.min(...revisions) ? kept : BEGINNING;
    const from = followed.revision + 1;
    const ids = new Set(wanted.map(({ id }) => id));
    const moments = new Map<string, Moment>();
    const history = await this.#store.readStream(stream, { from, limit: Math.max(...revisions) + 1 - from });
    for (const recorded of history) {
      const stored = decodeOrNull(recorded);
      if (!stored || !isOfSession(stored)) break;
      const { event } = stored;
      const { state: before } = followed;
      const after = sessionTable.replay([event], before);
      followed = { revision: recorded.revision, state: after };
      if (!ids.has(recorded.id)) continue;
      const notice = isNoticedType(event.type) ? noticeOf(event, before, after) : null;
      moments.set(recorded.id, { notice, details: detailsOf(event, after.context) });
    }
    this.#states.set(stream, followed);
    return moments;
  }

  async #recall(stream: string): Promise<void> {
    const [first] = await this.#store.readStream(stream, { from: 0, limit: 1 });
    if (first) this.remember(first);
  }
}

function factsOf(beginning: RecordedEvent): SessionFacts | null {
  const event = decodeOrNull(beginning)?.event;
  if (event?.type !== 'SessionCreated') return null;
  const { sessionId, merchantId, mode, orderId, dueCoin, rateLock, alternative } = event.data;
  const rates = {
    ...(rateLock && { [dueCoin]: rateLock.rate }),
    ...(alternative && { [alternative.coin]: alternative.rateLock.rate }),
  };
  return { sessionId, merchantId, mode, orderId, rates };
}
