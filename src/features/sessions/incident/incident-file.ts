import { z } from 'zod';
import { MODES, parseSessionId, type SessionId } from '../../../domain/values/ids.ts';
import { NETWORKS } from '../../../domain/networks/networks.ts';
import type { RangeScanned } from '../../../domain/events/operations-events.ts';
import { prevOf } from '../../../domain/events/envelope.ts';
import { canonicalText } from '../../../domain/events/canonical-text.ts';
import { sessionStream } from '../../../domain/values/streams.ts';
import type { RecordedEvent } from '../../../ports/event-log/event-store.ts';
import { hash } from 'node:crypto';
import type { TimelineEntry } from '../timeline/types.ts';
import { must } from '../../../domain/values/must.ts';

export const INCIDENT_FORMAT = 'quittance-incident/1';

/** The subject of a file: one session, or all sessions with events in a time range (inclusive). */
export type IncidentSubject = { readonly sessionId: SessionId } | { readonly fromSec: number; readonly toSec: number };

export interface IncidentSession {
  readonly sessionId: SessionId;
  /** The whole stream as recorded; personal data stays sealed. */
  readonly events: readonly RecordedEvent[];
  /** The fate of its webhooks, without bodies and addresses. */
  readonly deliveries: readonly TimelineEntry[];
}

/** Which blocks were read, from which providers, and when that was recorded. */
export interface IncidentCoverage {
  readonly atMs: number;
  readonly range: RangeScanned['data'];
}

/** Everything needed to understand what happened, independent of the installation. */
export interface Incident {
  readonly format: typeof INCIDENT_FORMAT;
  readonly madeAtSec: number;
  readonly subject: IncidentSubject;
  readonly configuration: object;
  readonly sessions: readonly IncidentSession[];
  readonly coverage: readonly IncidentCoverage[];
  readonly logs: readonly object[];
}

const sessionId = z.custom<SessionId>((value) => typeof value === 'string' && parseSessionId(value) === value);
const fact = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const event = z.object({
  id: z.string(),
  type: z.string(),
  version: z.int(),
  atMs: z.number(),
  data: z.string(),
  metadata: z.string(),
  hash: z.string(),
  ...{ stream: z.string(), revision: z.int(), position: z.string() },
});
const range = z.object({
  ...{ mode: z.enum(MODES), network: z.enum(NETWORKS) },
  ...{ fromBlock: z.number(), toBlock: z.number(), providers: z.array(z.string()) },
});
const incident = z.object({
  format: z.literal(INCIDENT_FORMAT),
  madeAtSec: z.number(),
  subject: z.union([z.object({ sessionId }), z.object({ fromSec: z.number(), toSec: z.number() })]),
  configuration: z.looseObject({}),
  sessions: z.array(
    z.object({
      sessionId,
      events: z.array(event).min(1),
      deliveries: z.array(
        z.object({ atMs: z.number(), type: z.string(), message: z.string(), facts: z.record(z.string(), fact) }),
      ),
    }),
  ),
  coverage: z.array(
    z.object({
      atMs: z.number(),
      range: z.custom<RangeScanned['data']>((value) => range.safeParse(value).success),
    }),
  ),
  logs: z.array(z.looseObject({})),
});

/** The file is not an incident or was altered after the export. The message says where. */
export class NoIncident extends Error {
  override readonly name = 'CommandRefused';
}

/** Throws `NoIncident`. */
export function parseIncident(text: string): Incident {
  const parsed = incident.safeParse(jsonOf(text));
  if (!parsed.success) {
    const [first] = parsed.error.issues;
    throw new NoIncident(
      `file: ${must(first).path.join('.') || 'it'} is not what "quittance incident export" writes (${must(first).message})`,
    );
  }
  const found: Incident = parsed.data;
  for (const { sessionId, events } of found.sessions) checkStream(sessionId, events);
  return found;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new NoIncident('file: it is not JSON, so not from "quittance incident export"');
  }
}

/**
 * Each event must have the hash of its own text and name the hash of its predecessor, so that none was changed, left
 * out or inserted.
 */
function checkStream(sessionId: SessionId, events: readonly RecordedEvent[]): void {
  let prev = '';
  for (const [index, recorded] of events.entries()) {
    const isWhole = recorded.stream === sessionStream(sessionId) && recorded.revision === index;
    const isOwn = hash('sha256', canonicalText(recorded), 'hex') === recorded.hash;
    if (!isWhole || !isOwn || prevOf(recorded.metadata) !== prev)
      throw new NoIncident(`file: event ${index} of session ${sessionId} differs from the record`);
    prev = recorded.hash;
  }
}
