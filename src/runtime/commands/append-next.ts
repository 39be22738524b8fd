import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AppendResult, EncodedEvent, EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { encodeEvent } from './codec.ts';

export interface AppendNextDeps {
  readonly store: Pick<EventStore, 'append'>;
  readonly clock: Clock;
  readonly random: Random;
}

export interface NextEvent {
  readonly stream: string;
  /** The newest event of the stream, which this one follows; null for the first. */
  readonly last: Pick<RecordedEvent, 'revision' | 'hash'> | null;
  readonly event: DomainEvent;
  readonly actor: string;
  /** Absent: a new one. */
  readonly correlationId?: string;
}

/**
 * Appends one event to a stream without a life cycle. If another writer was first, nothing is written and the result
 * says so. Throws `StoreUnavailable`.
 */
export async function appendNext(
  { store, clock, random }: AppendNextDeps,
  { stream, last, event, actor, correlationId = random.uuid() }: NextEvent,
): Promise<{ readonly result: AppendResult; readonly encoded: EncodedEvent }> {
  const metadata = { correlationId, actor, prev: last?.hash ?? '' };
  const encoded = encodeEvent({
    id: random.uuid(),
    stream,
    revision: (last?.revision ?? -1) + 1,
    atMs: clock.nowMs(),
    event,
    metadata,
  });
  return {
    result: await store.append({ stream, expected: last?.revision ?? 'no-stream', events: [encoded] }),
    encoded,
  };
}
