import { randomUUID } from 'node:crypto';
import type {
  AppendRequest,
  EncodedEvent,
  EventStore,
  ExpectedRevision,
  RecordedEvent,
  CoCommit,
} from '../../src/ports/event-log/event-store.ts';
import { encodeEvent } from '../../src/runtime/commands/codec.ts';

/* Events for store tests: small, real, and properly linked to the one before them in their stream. */

export interface Place {
  readonly revision: number;
  /** Hash of the stream's event before; empty for the first. */
  readonly prev: string;
}

export const FIRST: Place = { revision: 0, prev: '' };

export function sampleEvent(stream: string, { revision, prev }: Place, note = 'note'): EncodedEvent {
  return encodeEvent({
    id: randomUUID(),
    stream,
    revision,
    atMs: 1_800_000_000_000 + revision,
    event: {
      type: 'RequestAccepted',
      data: { requestHash: note, operation: 'test', givenId: stream, acceptedAtSec: 1_800_000_000 },
    },
    metadata: { correlationId: randomUUID(), actor: 'test', prev },
  });
}

function sampleEvents(stream: string, from: Place, count: number): EncodedEvent[] {
  const events: EncodedEvent[] = [];
  let place = from;
  for (let index = 0; index < count; index += 1) {
    const event = sampleEvent(stream, place);
    events.push(event);
    place = { revision: place.revision + 1, prev: event.hash };
  }
  return events;
}

const expectedBefore = ({ revision }: Place): ExpectedRevision => (revision === 0 ? 'no-stream' : revision - 1);

export function appendOf(stream: string, from: Place, count = 1, coCommits?: readonly CoCommit[]): AppendRequest {
  return {
    stream,
    expected: expectedBefore(from),
    events: sampleEvents(stream, from, count),
    ...(coCommits && { coCommits }),
  };
}

/** The place after the last event of a request. */
export const afterAppend = ({ expected, events }: AppendRequest): Place => ({
  revision: (expected === 'no-stream' ? 0 : expected + 1) + events.length,
  prev: events.at(-1)!.hash,
});

/** Appends events to the end of the stream, one append each, and returns them as requested. */
export async function grow(store: EventStore, stream: string, count: number): Promise<AppendRequest[]> {
  const last = await store.lastOfStream(stream);
  let place: Place = last ? { revision: last.revision + 1, prev: last.hash } : FIRST;
  const requests: AppendRequest[] = [];
  for (let index = 0; index < count; index += 1) {
    const request = appendOf(stream, place);
    const result = await store.append(request);
    if (!result.ok) throw new Error(`append to ${stream} was refused: it is at ${result.actual}`);
    requests.push(request);
    place = afterAppend(request);
  }
  return requests;
}

export const idsOf = (events: readonly { readonly id: string }[]): string[] => events.map(({ id }) => id);

export async function readWholeLog(store: Pick<EventStore, 'readAll'>, pageSize = 100): Promise<RecordedEvent[]> {
  const all: RecordedEvent[] = [];
  for (;;) {
    const page = await store.readAll({ after: all.at(-1)?.position ?? null, limit: pageSize });
    if (page.length === 0) return all;
    all.push(...page);
  }
}

/** Waits, for a bounded time, until something holds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 10_000;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
