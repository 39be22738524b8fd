import type { DomainEvent } from '../domain/events/domain-event.ts';
import type { StoredEvent } from '../domain/events/envelope.ts';
import type { RecordedEvent } from '../ports/event-store.ts';
import type { Projection } from '../ports/projection.ts';
import type { Change, OwnedRows, ReadModel } from '../ports/read-model.ts';
import { BatchRows } from './batch-rows.ts';
import type { RowCache } from './row-cache.ts';

/** An event that a projection could not take; its changes are missing until the projection is rebuilt with a build that can. */
export type ParkedEvent = {
  readonly projection: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
  readonly type: string;
  readonly error: string;
  readonly parkedAtMs: number;
};

/** The event as decoded, or why it cannot be. */
export interface ReadEvent {
  readonly recorded: RecordedEvent;
  readonly stored: StoredEvent<DomainEvent> | null;
  readonly error?: unknown;
}

export interface BatchResult {
  readonly changes: readonly Change[];
  readonly parked: readonly ParkedEvent[];
  readonly rows: BatchRows;
}

/** `name@version`: the owner of a checkpoint. */
export const projectionId = ({ name, version }: Pick<Projection, 'name' | 'version'>): string => `${name}@${version}`;

/** Of one projection, so that a rebuild forgets its own only. */
export const parkedTable = (projection: Projection): string => `parked_events:${projectionId(projection)}`;

/** What `clear` and `next` of a read model are about. */
export const ownedRows = (projection: Projection): OwnedRows => ({
  projection: projectionId(projection),
  tables: [...projection.tables, parkedTable(projection)],
  lists: projection.lists,
});

const MAX_ERROR_TEXT = 300;

/** What a batch of events changes for one projection. Infrastructure errors reject; an event it cannot take is parked. */
export async function projectBatch(
  projection: Projection,
  events: readonly ReadEvent[],
  context: { readonly readModel: Pick<ReadModel, 'getMany'>; readonly cache: RowCache; readonly nowMs: number },
): Promise<BatchResult> {
  const rows = new BatchRows(context.readModel, context.cache, projection.listed);
  const parked: ParkedEvent[] = [];
  const park = (event: RecordedEvent, error: unknown): void => {
    const entry = parkedEvent(projection, event, error, context.nowMs);
    parked.push(entry);
    rows.write([{ op: 'put', table: parkedTable(projection), key: entry.position, row: entry }]);
  };
  const relevant = events.filter(({ recorded }) => projection.streamPrefixes.some((prefix) => recorded.stream.startsWith(prefix)));

  await rows.load(relevant.flatMap(({ stored }) => attempt(() => (stored ? projection.needs(stored) : [])).value ?? []));
  for (const { recorded, stored, error } of relevant) {
    if (!stored) {
      park(recorded, error);
      continue;
    }
    const more = attempt(() => projection.needsThen?.(stored, rows.read) ?? []);
    const loading = more.value && rows.load(more.value);
    if (loading) await loading;
    const applied = more.value ? attempt(() => projection.apply(stored, rows.read)) : more;
    if (!applied.value) {
      park(recorded, applied.error);
      continue;
    }
    rows.write(applied.value);
  }
  return { changes: rows.changes(), parked, rows };
}

function attempt<Value>(step: () => Value): { value: Value; error?: undefined } | { value?: undefined; error: unknown } {
  try {
    return { value: step() };
  } catch (error) {
    return { error };
  }
}

function parkedEvent(projection: Projection, { stream, revision, position, type }: RecordedEvent, error: unknown, nowMs: number): ParkedEvent {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { projection: projectionId(projection), stream, revision, position, type, error: text.slice(0, MAX_ERROR_TEXT), parkedAtMs: nowMs };
}
