import type { DeliveryScheduled } from '../domain/events/delivery-events.ts';
import type { DomainEvent } from '../domain/events/domain-event.ts';
import type { StoredEvent } from '../domain/events/envelope.ts';
import type { NotificationId } from '../domain/ids.ts';
import { isNotifyingType, notificationOf, type NotifyingEvent, type SessionFacts } from '../domain/notifications.ts';
import type { EndpointDirectory } from '../ports/endpoint-directory.ts';
import type { EventStore, RecordedEvent } from '../ports/event-store.ts';
import type { Clock } from '../ports/clock.ts';
import { decodeEvent, UnknownEvent } from '../runtime/codec.ts';
import type { CommandContext } from '../runtime/command-handler.ts';
import { RecentMap } from '../runtime/recent-map.ts';

/** What is to be told, and which event it comes from. */
export interface Told {
  readonly delivery: DeliveryScheduled['data'];
  readonly context: CommandContext;
}

const ACTOR = 'process:deliver-webhooks';
/** At least so many sessions' facts are kept, at most twice as many: those of half an hour at a busy shop. Every session is told of at least once. */
const KEPT_FACTS = 25_000;

export const isNotifying = (recorded: RecordedEvent): boolean => recorded.stream.startsWith('session-') && isNotifyingType(recorded.type);

/** Turns session events into what their merchants are told. */
export class NotificationReader {
  readonly #store: EventStore;
  readonly #directory: EndpointDirectory;
  readonly #clock: Clock;
  readonly #facts = new RecentMap<string, SessionFacts>(KEPT_FACTS);

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

  /** Reads the beginnings of sessions that are not remembered any more, so that `read` finds them. */
  async recall(notifying: readonly RecordedEvent[]): Promise<void> {
    const unknown = notifying.filter(({ stream }) => this.#facts.get(stream) === undefined);
    if (unknown.length > 0) await Promise.all([...new Set(unknown.map(({ stream }) => stream))].map((stream) => this.#recall(stream)));
  }

  /** What the event tells, once `recall` or `remember` has seen its session. Null when it cannot be told: it is unreadable, or its session does not begin as sessions do. */
  read(recorded: RecordedEvent): Told | null {
    const stored = decodeOrNull(recorded);
    const facts = stored && this.#facts.get(recorded.stream);
    const notificationId = stored?.metadata.notificationId as NotificationId | undefined;
    if (!facts || notificationId === undefined) return null;
    const { type: eventType, merchantId, mode, sessionId, body } = notificationOf(notificationId, stored.atMs, stored.event as NotifyingEvent, facts);
    const endpointId = this.#directory.endpointOf(merchantId)?.endpointId ?? '';
    return {
      delivery: { notificationId, merchantId, mode, endpointId, eventType, sessionId, body, scheduledAtMs: this.#clock.nowMs() },
      context: { correlationId: stored.metadata.correlationId, causationId: stored.id, actor: ACTOR },
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
