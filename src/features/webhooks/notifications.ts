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
import { detailsOf, noticeOf } from '../../../state-machines/checkout-session/notices.ts';
import type { EndpointDirectory, Subscription } from '../../ports/webhooks/endpoint-directory.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { Clock } from '../../ports/clock.ts';
import { decodeOrNull } from './decode.ts';
import type { PendingNotification, Reading } from './pending-notification.ts';
import { isOfSettings, SettingsNotifications } from './settings-notifications.ts';
import { RecentMap } from '../../runtime/util/recent-map.ts';
import { must } from '../../domain/values/must.ts';

const ACTOR = 'process:deliver-webhooks';
/**
 * Facts of at least this many sessions are kept, and of at most twice as many: half an hour at a busy shop. Every
 * session causes at least one notification.
 */
const KEPT_FACTS = 25_000;

export const isNotifying = (recorded: RecordedEvent): boolean =>
  isOfSettings(recorded) ||
  (recorded.stream.startsWith('session-') && (isNotifyingType(recorded.type) || isNoticedType(recorded.type)));

const isNotifyingEvent = (event: DomainEvent): event is NotifyingEvent => isNotifyingType(event.type);

/** The session at the time of an event's commit, and what that means apart from outcomes. */
interface Moment {
  readonly notice: Notice | null;
  readonly details: NotificationDetails;
}

/** Turns session events into notifications for their merchants. */
export class NotificationReader {
  readonly #store: EventStore;
  readonly #directory: EndpointDirectory;
  readonly #clock: Clock;
  readonly #facts = new RecentMap<string, SessionFacts>(KEPT_FACTS);
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
    const moments = wanted.map(async (recorded) => [recorded.id, await this.#momentOf(recorded)] as const);
    this.#moments = new Map(
      (await Promise.all(moments)).filter((found): found is readonly [string, Moment] => found[1] !== null),
    );
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
   * Derived from the session at the event's commit, so that the result is the same however often it is read. Null if
   * the session is unreadable.
   */
  async #momentOf({ stream, revision }: RecordedEvent): Promise<Moment | null> {
    const history = (await this.#store.readStream(stream, { from: 0, limit: revision + 1 })).map(decodeOrNull);
    const events = history.filter((stored) => stored !== null && isOfSession(stored)).map(({ event }) => event);
    if (events.length <= revision) return null;
    const before = sessionTable.replay(events.slice(0, -1));
    const event = must(events.at(-1));
    const after = sessionTable.replay([event], before);
    return {
      notice: isNoticedType(event.type) ? noticeOf(event, before, after) : null,
      details: detailsOf(event, after.context),
    };
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
