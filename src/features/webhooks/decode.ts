import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { StoredEvent } from '../../domain/events/envelope.ts';
import type { RecordedEvent } from '../../ports/event-log/event-store.ts';
import { decodeEvent, UnknownEvent } from '../../runtime/commands/codec.ts';

/** Null for an event that this build cannot read. */
export function decodeOrNull(recorded: RecordedEvent): StoredEvent<DomainEvent> | null {
  try {
    return decodeEvent(recorded);
  } catch (error) {
    if (error instanceof UnknownEvent || error instanceof SyntaxError) return null;
    throw error;
  }
}
