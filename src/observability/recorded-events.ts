import type { EventMetadata } from '../domain/events/envelope.ts';
import { deliveryOfStream, sessionOfStream } from '../domain/values/streams.ts';
import type { AppendRequest, EventStore } from '../ports/event-log/event-store.ts';
import { storeWith } from '../ports/event-log/store-with.ts';
import type { Logger } from './logger.ts';

/**
 * Logs what is recorded of each session and of its webhooks: a search for the session's id then follows it through the
 * logs of every process.
 */
export const logRecordedEvents = (store: EventStore, log: Logger): EventStore =>
  storeWith(store, {
    append: async (request) => {
      const result = await store.append(request);
      if (result.ok && log.isLevelEnabled('info')) {
        const subject = subjectOf(request.stream);
        if (subject) log.info({ ...subject, ...factsOf(request) }, 'events were recorded');
      }
      return result;
    },
  });

/** Null for streams that belong to no session. The session of a delivery is in the context of whoever works on it. */
function subjectOf(stream: string): object | null {
  const session = sessionOfStream(stream);
  if (session !== null) return { session };
  const notification = deliveryOfStream(stream);
  return notification && { notification };
}

function factsOf({ events }: AppendRequest): object {
  const [first] = events;
  if (!first) return {};
  const { actor, correlationId } = JSON.parse(first.metadata) as EventMetadata;
  return { events: events.map(({ type }) => type).join(' '), actor, correlationId };
}
