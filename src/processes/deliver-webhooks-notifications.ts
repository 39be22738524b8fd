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

/** What is to be told, and which event it comes from. */
export interface Told {
  readonly delivery: DeliveryScheduled['data'];
  readonly context: CommandContext;
}

const ACTOR = 'process:deliver-webhooks';
const BEGINNINGS = 5_000;

export const isNotifying = (recorded: RecordedEvent): boolean => recorded.stream.startsWith('session-') && isNotifyingType(recorded.type);

/** Turns session events into what their merchants are told. */
export class NotificationReader {
  readonly #store: EventStore;
  readonly #directory: EndpointDirectory;
  readonly #clock: Clock;
  /** How sessions began, as stored: most are told of soon after. */
  readonly #beginnings = new Map<string, RecordedEvent>();

  constructor(deps: { readonly store: EventStore; readonly directory: EndpointDirectory; readonly timers: Clock }) {
    this.#store = deps.store;
    this.#directory = deps.directory;
    this.#clock = deps.timers;
  }

  remember(beginning: RecordedEvent): void {
    this.#beginnings.set(beginning.stream, beginning);
    if (this.#beginnings.size <= BEGINNINGS) return;
    const [oldest] = this.#beginnings.keys();
    this.#beginnings.delete(oldest!);
  }

  /** Null when the event cannot be told: it is unreadable, or its session does not begin as sessions do. */
  async read(recorded: RecordedEvent): Promise<Told | null> {
    const stored = decodeOrNull(recorded);
    const facts = stored && (await this.#factsOf(recorded.stream));
    const notificationId = stored?.metadata.notificationId as NotificationId | undefined;
    if (!facts || notificationId === undefined) return null;
    const { type: eventType, merchantId, mode, sessionId, body } = notificationOf(notificationId, stored.atMs, stored.event as NotifyingEvent, facts);
    const endpointId = this.#directory.endpointOf(merchantId)?.endpointId ?? '';
    return {
      delivery: { notificationId, merchantId, mode, endpointId, eventType, sessionId, body, scheduledAtMs: this.#clock.nowMs() },
      context: { correlationId: stored.metadata.correlationId, causationId: stored.id, actor: ACTOR },
    };
  }

  async #factsOf(stream: string): Promise<SessionFacts | null> {
    const first = this.#beginnings.get(stream) ?? (await this.#store.readStream(stream, { from: 0, limit: 1 }))[0];
    const stored = first && decodeOrNull(first);
    return stored?.event.type === 'SessionCreated' ? stored.event.data : null;
  }
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
