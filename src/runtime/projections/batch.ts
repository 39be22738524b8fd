import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { StoredEvent } from '../../domain/events/envelope.ts';
import type { RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { Projection } from '../../ports/read-model/projection.ts';
import type { Change, OwnedRows, ReadModel, RowChange } from '../../ports/read-model/read-model.ts';
import { BatchRows } from './batch-rows.ts';
import { decodeEvent } from '../commands/codec.ts';
import { CHAIN_KEY, DigestChain } from './digest-chain.ts';
import type { RowCache } from './row-cache.ts';

/**
 * An event that a projection could not process. Its changes are missing until the projection is rebuilt with a build
 * that can.
 */
export type ParkedEvent = {
  readonly projection: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
  readonly type: string;
  readonly error: string;
  readonly parkedAtMs: number;
};

/** The decoded event, or why it cannot be decoded. */
export interface ReadEvent {
  readonly recorded: RecordedEvent;
  readonly stored: StoredEvent<DomainEvent> | null;
  readonly error?: unknown;
}

/** An event that cannot be decoded is parked by every projection that it concerns. */
export function readEvent(recorded: RecordedEvent): ReadEvent {
  try {
    return { recorded, stored: decodeEvent(recorded) };
  } catch (error) {
    return { recorded, stored: null, error };
  }
}

export interface BatchResult {
  readonly changes: readonly Change[];
  readonly parked: readonly ParkedEvent[];
  readonly rows: BatchRows;
}

/** `name@version`: the owner of a checkpoint. */
export const projectionId = ({ name, version }: Pick<Projection, 'name' | 'version'>): string => `${name}@${version}`;

/** Per projection, so that a rebuild clears only its own. */
export const parkedTable = (projection: Projection): string => `parked_events:${projectionId(projection)}`;

/** Per projection; restarted together with its rows. */
export const chainTable = (id: string): string => `digest:${id}`;

/** The scope of a read model's `clear` and `next`. */
export const ownedRows = (projection: Projection): OwnedRows => ({
  projection: projectionId(projection),
  tables: [...projection.tables, parkedTable(projection), chainTable(projectionId(projection))],
  lists: projection.lists,
});

const MAX_ERROR_TEXT = 300;

interface BatchContext {
  readonly readModel: Pick<ReadModel, 'getMany'>;
  readonly cache: RowCache;
  readonly nowMs: number;
  /**
   * Continues the digest of the projection's results; absent: none is kept. `isFirst`: nothing was projected before.
   */
  readonly chain?: { readonly isFirst: boolean };
}

/**
 * The changes of a batch of events for one projection. Infrastructure errors reject; an event that cannot be processed
 * is parked.
 */
export async function projectBatch(
  projection: Projection,
  events: readonly ReadEvent[],
  context: BatchContext,
): Promise<BatchResult> {
  const batch = new ProjectionBatch(projection, context);
  await batch.take(events);
  return batch.result();
}

/** A batch given in parts, so that other work gets a turn between them. */
export class ProjectionBatch {
  readonly #projection: Projection;
  readonly #context: BatchContext;
  readonly #rows: BatchRows;
  readonly #parked: ParkedEvent[] = [];
  #chain: DigestChain | null = null;
  #isBegun = false;

  constructor(projection: Projection, context: BatchContext) {
    this.#projection = projection;
    this.#context = context;
    this.#rows = new BatchRows(context.readModel, context.cache, projection.listed);
  }

  /** Parts must come in log order. Rejects for infrastructure errors; the batch is then lost. */
  async take(events: readonly ReadEvent[]): Promise<void> {
    const relevant = events.filter(({ recorded }) => this.#concerns(recorded.stream));
    if (!this.#isBegun) await this.#begin();
    for (const { stored } of relevant) if (stored) this.#want(stored);
    const loading = this.#rows.load();
    if (loading) await loading;
    for (const event of relevant) {
      const more = this.#take(event);
      if (more) await more;
    }
  }

  result(): BatchResult {
    if (this.#chain) this.#rows.write([{ op: 'put', table: this.#chainTable, key: CHAIN_KEY, row: this.#chain.row }]);
    return { changes: this.#rows.changes(), parked: this.#parked, rows: this.#rows };
  }

  get #chainTable(): string {
    return chainTable(projectionId(this.#projection));
  }

  /** A chain is meaningful only if it covers every event from the first. */
  async #begin(): Promise<void> {
    this.#isBegun = true;
    const { chain } = this.#context;
    if (!chain) return;
    this.#rows.want([{ table: this.#chainTable, key: CHAIN_KEY }]);
    await this.#rows.load();
    const row = this.#rows.read(this.#chainTable, CHAIN_KEY);
    if (row !== null || chain.isFirst) this.#chain = new DigestChain(row);
  }

  #concerns(stream: string): boolean {
    for (const prefix of this.#projection.streamPrefixes) if (stream.startsWith(prefix)) return true;
    return false;
  }

  /** An event that cannot be processed is detected when it is applied. */
  #want(stored: StoredEvent<DomainEvent>): void {
    try {
      this.#rows.want(this.#projection.needs(stored));
    } catch {
      return;
    }
  }

  /** Null if there is nothing to wait for. */
  #take({ recorded, stored, error }: ReadEvent): Promise<void> | null {
    if (!stored) {
      this.#park(recorded, error);
      return null;
    }
    try {
      if (this.#projection.needsThen) this.#rows.want(this.#projection.needsThen(stored, this.#rows.read));
    } catch (cause) {
      this.#park(recorded, cause);
      return null;
    }
    const loading = this.#rows.load();
    if (loading) return loading.then(() => this.#apply(recorded, stored));
    this.#apply(recorded, stored);
    return null;
  }

  #apply(recorded: RecordedEvent, stored: StoredEvent<DomainEvent>): void {
    let changes: readonly RowChange[];
    try {
      changes = this.#projection.apply(stored, this.#rows.read);
    } catch (error) {
      this.#park(recorded, error);
      return;
    }
    this.#rows.write(changes);
    this.#chain?.take(recorded, changes);
  }

  #park(event: RecordedEvent, error: unknown): void {
    const entry = parkedEvent(this.#projection, event, error, this.#context.nowMs);
    this.#parked.push(entry);
    this.#chain?.take(event, 'parked');
    this.#rows.write([{ op: 'put', table: parkedTable(this.#projection), key: entry.position, row: entry }]);
  }
}

function parkedEvent(
  projection: Projection,
  { stream, revision, position, type }: RecordedEvent,
  error: unknown,
  nowMs: number,
): ParkedEvent {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    projection: projectionId(projection),
    stream,
    revision,
    position,
    type,
    error: text.slice(0, MAX_ERROR_TEXT),
    parkedAtMs: nowMs,
  };
}
