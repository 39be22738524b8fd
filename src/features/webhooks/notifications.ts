import type { DeliveryScheduled } from '../../domain/events/delivery-events.ts';
import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { StoredEvent } from '../../domain/events/envelope.ts';
import type { NotificationId } from '../../domain/ids.ts';
import {
  isNoticedType,
  isNotifyingType,
  noticeNotification,
  notificationOf,
  type Notice,
  type Notification,
  type NotifyingEvent,
  type SessionFacts,
} from '../../domain/notifications.ts';
import type { SessionEvent } from '../../domain/events/session-events.ts';
import { sessionTable } from '../shared/handlers/session-handler.ts';
import { noticeOf } from '../../../state-machines/checkout-session/notices.ts';
import type { EndpointDirectory } from '../../ports/endpoint-directory.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-store.ts';
import type { Clock } from '../../ports/clock.ts';
import { decodeEvent, UnknownEvent } from '../../runtime/commands/codec.ts';
import type { CommandContext } from '../../runtime/commands/handler.ts';
import { RecentMap } from '../../runtime/util/recent-map.ts';

/** What is to be notifications, and which event it comes from. */
export interface PendingNotification {
  readonly delivery: DeliveryScheduled['data'];
  readonly context: CommandContext;
}

const ACTOR = 'process:deliver-webhooks';
/** At least so many sessions' facts are kept, at most twice as many: those of half an hour at a busy shop. Every session is notifications of at least once. */
const KEPT_FACTS = 25_000;

export const isNotifying = ({ stream, type }: RecordedEvent): boolean =>
  stream.startsWith('session-') && (isNotifyingType(type) || isNoticedType(type));

/** `untold`: nobody asked for it. `unreadable`: it is unreadable, or its session does not begin as sessions do. */
export type Reading = PendingNotification | 'untold' | 'unreadable';

/** Turns session events into what their merchants are notifications. */
export class NotificationReader {
  readonly #store: EventStore;
  readonly #directory: EndpointDirectory;
  readonly #clock: Clock;
  readonly #facts = new RecentMap<string, SessionFacts>(KEPT_FACTS);
  /** Of the events at hand, what those mean that a merchant asked for; by event id. */
  #notices: ReadonlyMap<string, Notice | null> = new Map();

  constructor(deps: { readonly store: EventStore; readonly directory: EndpointDirectory; readonly timers: Clock }) {
    this.#store = deps.store;
    this.#directory = deps.directory;
    this.#clock = deps.timers;
  }

  /** Keeps what will be said of a session that begins. */
  remember(beginning: RecordedEvent): void {
    const facts = factsOf(beginning);
    if (!facts) return;
    this.#facts.set(beginning.stream, facts);
  }

  /** Reads what `read` needs: the beginnings of sessions that are not remembered any more, and the sessions of events that were asked for. */
  async recall(notifying: readonly RecordedEvent[]): Promise<void> {
    const unknown = notifying.filter(({ stream }) => this.#facts.get(stream) === undefined);
    if (unknown.length > 0) await Promise.all([...new Set(unknown.map(({ stream }) => stream))].map((stream) => this.#recall(stream)));
    const wanted = notifying.filter((recorded) => isNoticedType(recorded.type) && this.#isWanted(recorded));
    const notices = wanted.map(async (recorded) => [recorded.id, await this.#noticeOf(recorded)] as const);
    this.#notices = new Map((await Promise.all(notices)).filter((found): found is readonly [string, Notice | null] => found[1] !== undefined));
  }

  /** What the event tells, once `recall` has seen it. */
  read(recorded: RecordedEvent): Reading {
    const isNotice = isNoticedType(recorded.type);
    if (isNotice && !this.#isWanted(recorded)) return 'untold';
    const stored = decodeOrNull(recorded);
    const facts = stored && this.#facts.get(recorded.stream);
    const notificationId = stored?.metadata.notificationId as NotificationId | undefined;
    if (!facts || notificationId === undefined) return 'unreadable';
    if (!isNotice) return this.#notifications(notificationOf(notificationId, stored.atMs, stored.event as NotifyingEvent, facts), stored);
    const notice = this.#notices.get(recorded.id);
    if (notice === undefined) return 'unreadable';
    const isAsked = notice !== null && this.#directory.optionalTypesOf(facts.merchantId).has(notice.type);
    return isAsked ? this.#notifications(noticeNotification(notificationId, stored.atMs, notice, facts), stored) : 'untold';
  }

  #notifications(
    { notificationId, type: eventType, merchantId, mode, sessionId, body }: Notification,
    stored: StoredEvent<DomainEvent>,
  ): PendingNotification {
    const endpointId = this.#directory.endpointOf(merchantId)?.endpointId ?? '';
    return {
      delivery: { notificationId, merchantId, mode, endpointId, eventType, sessionId, body, scheduledAtMs: this.#clock.nowMs() },
      context: { correlationId: stored.metadata.correlationId, causationId: stored.id, actor: ACTOR },
    };
  }

  /** Whether the session's merchant asked for anything beside outcomes. */
  #isWanted({ stream }: RecordedEvent): boolean {
    const facts = this.#facts.get(stream);
    return facts !== undefined && this.#directory.optionalTypesOf(facts.merchantId).size > 0;
  }

  /** From the session as it stood when the event was committed, so that it says the same however often it is read. Undefined when it is unreadable. */
  async #noticeOf({ stream, revision }: RecordedEvent): Promise<Notice | null | undefined> {
    const history = (await this.#store.readStream(stream, { from: 0, limit: revision + 1 })).map(decodeOrNull);
    const events = history.filter((stored) => stored !== null).map(({ event }) => event as SessionEvent);
    if (events.length <= revision) return undefined;
    const before = sessionTable.replay(events.slice(0, -1));
    const event = events.at(-1)!;
    return noticeOf(event, before, sessionTable.replay([event], before));
  }

  async #recall(stream: string): Promise<void> {
    const [first] = await this.#store.readStream(stream, { from: 0, limit: 1 });
    if (first) this.remember(first);
  }
}

function factsOf(beginning: RecordedEvent): SessionFacts | null {
  const event = decodeOrNull(beginning)?.event;
  if (event?.type !== 'SessionCreated') return null;
  const { sessionId, merchantId, mode, orderId, rateLock } = event.data;
  return { sessionId, merchantId, mode, orderId, rate: rateLock?.rate ?? null };
}

/** Null for an event that this build cannot read. */
export function decodeOrNull(recorded: RecordedEvent): StoredEvent<DomainEvent> | null {
  try {
    return decodeEvent(recorded);
  } catch (error) {
    if (error instanceof UnknownEvent || error instanceof SyntaxError) return null;
    throw error;
  }
}
