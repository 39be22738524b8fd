import { eventIdOf } from '../../../domain/notifications/delivery-ids.ts';
import type { NotificationId, SessionId } from '../../../domain/values/ids.ts';
import { deliveryOfStream, sessionOfStream } from '../../../domain/values/streams.ts';
import type { EventStore, RecordedEvent } from '../../../ports/event-log/event-store.ts';
import { decodeEvent } from '../../../runtime/commands/codec.ts';
import { pagesOf } from '../../../runtime/event-log/log-copy.ts';
import { describeEvent } from '../timeline/words.ts';
import type { TimelineEntry } from '../timeline/types.ts';
import {
  INCIDENT_FORMAT,
  NoIncident,
  type Incident,
  type IncidentCoverage,
  type IncidentSubject,
} from './incident-file.ts';
import { must } from '../../../domain/values/must.ts';

export interface CollectOptions {
  readonly subject: IncidentSubject;
  readonly configuration: object;
  readonly madeAtSec: number;
  /** Lines of the service's log, each a JSON text. Only those about the sessions are included. */
  readonly logLines?: Iterable<string>;
}

/** More sessions than anyone would examine in one incident. */
const MAX_SESSIONS = 1_000;
const MAX_LOG_LINES = 20_000;
/** Margin around the time of the sessions: what was read just before and after tells how far the chains were. */
const AROUND_MS = 3_600_000;

/**
 * Collects an incident from the event log alone: first the sessions concerned, then everything about them. Throws
 * `NoIncident`.
 */
export async function collectIncident(store: Pick<EventStore, 'readAll'>, options: CollectOptions): Promise<Incident> {
  const { subject, configuration, madeAtSec } = options;
  const ids = 'sessionId' in subject ? new Set([subject.sessionId]) : await sessionsWithin(store, subject);
  const events = await eventsOf(store, ids);
  if (events.size === 0)
    throw new NoIncident(
      'sessionId' in subject ? 'subject: no such session' : 'subject: nothing happened to any session in that time',
    );
  const all = [...events.values()].flat();
  const notified = new Map(all.flatMap(notificationOf).map((id): [NotificationId, TimelineEntry[]] => [id, []]));
  const coverage: IncidentCoverage[] = [];
  const times = all.map(({ atMs }) => atMs);
  const [from, to] = [
    times.reduce((a, b) => Math.min(a, b)) - AROUND_MS,
    times.reduce((a, b) => Math.max(a, b)) + AROUND_MS,
  ];
  for await (const page of pagesOf(store)) {
    for (const recorded of page) {
      const delivery = deliveryOfStream(recorded.stream);
      if (delivery !== null) notified.get(eventIdOf(delivery))?.push(entryOf(recorded));
      else if (recorded.type === 'RangeScanned' && recorded.atMs >= from && recorded.atMs <= to)
        coverage.push(coverageOf(recorded));
    }
  }
  const sessions = [...events].map(([sessionId, own]) => ({
    sessionId,
    events: own,
    deliveries: own.flatMap(notificationOf).flatMap((id) => must(notified.get(id))),
  }));
  return {
    format: INCIDENT_FORMAT,
    madeAtSec,
    subject,
    configuration,
    sessions,
    coverage,
    logs: logsAbout(all, options.logLines ?? []),
  };
}

const notificationOf = (recorded: RecordedEvent): NotificationId | [] =>
  decodeEvent(recorded).metadata.notificationId ?? [];

async function eventsOf(
  store: Pick<EventStore, 'readAll'>,
  ids: ReadonlySet<SessionId>,
): Promise<Map<SessionId, RecordedEvent[]>> {
  const events = new Map<SessionId, RecordedEvent[]>();
  for await (const page of pagesOf(store)) {
    for (const recorded of page) {
      const id = sessionOfStream(recorded.stream);
      if (id === null || !ids.has(id)) continue;
      const own = events.get(id);
      if (own) own.push(recorded);
      else events.set(id, [recorded]);
    }
  }
  return events;
}

async function sessionsWithin(
  store: Pick<EventStore, 'readAll'>,
  { fromSec, toSec }: { readonly fromSec: number; readonly toSec: number },
): Promise<ReadonlySet<SessionId>> {
  const ids = new Set<SessionId>();
  for await (const page of pagesOf(store)) {
    for (const { stream, atMs } of page) {
      const id = sessionOfStream(stream);
      if (id === null || atMs < fromSec * 1000 || atMs >= (toSec + 1) * 1000) continue;
      ids.add(id);
      if (ids.size > MAX_SESSIONS)
        throw new NoIncident(`subject: more than ${MAX_SESSIONS} sessions in that time: narrow the range`);
    }
  }
  return ids;
}

function entryOf(recorded: RecordedEvent): TimelineEntry {
  const { event, atMs } = decodeEvent(recorded);
  return { atMs, type: event.type, ...describeEvent(event) };
}

function coverageOf(recorded: RecordedEvent): IncidentCoverage {
  const { event, atMs } = decodeEvent(recorded);
  if (event.type !== 'RangeScanned') throw new Error('not a range that was read');
  return { atMs, range: event.data };
}

/** Lines that mention a session, a request behind one of its events, a notification or a transaction. */
function logsAbout(events: readonly RecordedEvent[], lines: Iterable<string>): object[] {
  const names = new Set<string>();
  for (const recorded of events) {
    const { metadata, event } = decodeEvent(recorded);
    names.add(must(sessionOfStream(recorded.stream)));
    for (const name of [
      metadata.correlationId,
      metadata.notificationId,
      'txHash' in event.data ? event.data.txHash : undefined,
    ])
      if (typeof name === 'string' && name.length >= SHORTEST_NAME) names.add(name);
  }
  const found: object[] = [];
  const wanted = [...names];
  for (const line of lines) {
    if (!wanted.some((name) => line.includes(name))) continue;
    const parsed = objectOf(line);
    if (parsed) found.push(parsed);
    if (found.length === MAX_LOG_LINES) break;
  }
  return found;
}

/** Shorter names also match unrelated lines. */
const SHORTEST_NAME = 12;

function objectOf(line: string): object | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
