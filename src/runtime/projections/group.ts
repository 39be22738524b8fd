import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { StoredEvent } from '../../domain/events/envelope.ts';
import type { EventStore, Position, RecordedEvent, Subscription } from '../../ports/event-log/event-store.ts';
import { ProjectionBatch, projectionId, type BatchResult, type ParkedEvent, type ReadEvent } from './batch.ts';
import type { ProjectionWork } from './work.ts';
import { must } from '../../domain/values/must.ts';

export interface BatchReport {
  readonly projections: readonly string[];
  readonly events: number;
  readonly changes: number;
  /** From receiving the batch to its commit. */
  readonly durationMs: number;
  /** The part spent waiting for the read model's commit. */
  readonly applyMs: number;
  /** Committed events not yet handled. */
  readonly lagEvents: number;
  /** Age of the batch's last event when it was committed to the read model. */
  readonly lagSec: number;
}

export interface GroupContext {
  readonly store: Pick<EventStore, 'subscribe'>;
  readonly streamPrefixes: readonly string[];
  readonly maxBatch: number;
  readonly nowMs: () => number;
  readonly decode: (recorded: RecordedEvent) => StoredEvent<DomainEvent>;
  /** See `DigestChain`. */
  readonly isChained: boolean;
  readonly onBatch: (report: BatchReport) => void;
  readonly onParked: (event: ParkedEvent) => void;
  /** The group has reached `position` and may merge with others. */
  readonly onSettled: (group: ProjectionGroup) => void;
  /** The work cannot continue with the group, because it is at another position. */
  readonly onStraggler: (work: ProjectionWork) => void;
}

/** Events projected per turn of the event loop. */
const PART_EVENTS = 1_024;
/** Events read from a file at a time; short-lived objects cost the garbage collector nothing. */
const READ_EVENTS = 256;

/** The events of a batch. */
type Parts = Iterable<readonly RecordedEvent[]>;

function* partsOf(events: readonly RecordedEvent[]): Generator<readonly RecordedEvent[], void> {
  for (let at = 0; at < events.length; at += PART_EVENTS) yield events.slice(at, at + PART_EVENTS);
}

interface ProjectedBatch {
  readonly results: ReadonlyMap<ProjectionWork, BatchResult>;
  readonly events: number;
  /** Null if there were none. */
  readonly last: RecordedEvent | null;
}

/** Projections at the same position, fed by one subscription. */
export class ProjectionGroup {
  readonly works: Set<ProjectionWork>;
  readonly #context: GroupContext;
  readonly #subscription: Subscription;
  #position: Position | null;
  #busy: Promise<void> | null = null;
  #isClosed = false;
  #hasCaughtUp = false;
  #lastAtMs = 0;
  /** An apply failed, and it is unknown whether it was committed. */
  #isDoubtful = false;

  constructor(name: string, works: Iterable<ProjectionWork>, after: Position | null, context: GroupContext) {
    this.works = new Set(works);
    this.#context = context;
    this.#position = after;
    this.#subscription = context.store.subscribe({
      name,
      after,
      streamPrefixes: context.streamPrefixes,
      maxBatch: context.maxBatch,
      onEvents: (events) => this.#take(partsOf(events)),
      inParts: { size: READ_EVENTS, onParts: (parts) => this.#take(parts) },
      onCaughtUp: () => this.#caughtUp(),
    });
  }

  get position(): Position | null {
    return this.#position;
  }

  get hasCaughtUp(): boolean {
    return this.#hasCaughtUp;
  }

  get isIdle(): boolean {
    return this.#busy === null && !this.#isDoubtful;
  }

  get lagEvents(): number {
    return this.#subscription.lag;
  }

  /** Age of the last handled event while others wait; 0 if none do. */
  get lagSec(): number {
    return this.lagEvents === 0 || this.#lastAtMs === 0
      ? 0
      : Math.max(0, this.#context.nowMs() - this.#lastAtMs) / 1000;
  }

  reached(position: Position): Promise<void> {
    return this.#subscription.reached(position);
  }

  /** Whether its rows are not served yet, which then holds for all of them. */
  get isNext(): boolean {
    return [...this.works].some(({ next }) => next !== null);
  }

  /** Pauses it between two batches until the returned function is called. */
  async hold(): Promise<() => void> {
    while (this.#busy) await this.#busy.catch(() => undefined);
    let goOn = (): void => undefined;
    this.#busy = new Promise((resolve) => (goOn = resolve));
    return () => {
      this.#busy = null;
      goOn();
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#subscription.close();
  }

  #caughtUp(): void {
    this.#hasCaughtUp = true;
    if (!this.#isClosed) this.#context.onSettled(this);
  }

  async #take(parts: Parts): Promise<void> {
    // Only `hold` keeps it busy here, because batches arrive one after another.
    while (this.#busy) await this.#busy;
    if (this.#isClosed) return;
    this.#busy = this.#handle(parts);
    try {
      await this.#busy;
    } finally {
      this.#busy = null;
    }
    if (!this.#isClosed) this.#context.onSettled(this);
  }

  async #handle(parts: Parts): Promise<void> {
    const { nowMs, onParked, onBatch } = this.#context;
    const startedMs = nowMs();
    if (this.#isDoubtful) await this.#resolveDoubt();
    const { results, events, last } = await this.#project(parts, startedMs);
    if (last === null) return;
    const applyingMs = nowMs();
    await this.#apply(results, last.position);
    this.#position = last.position;
    this.#lastAtMs = last.atMs;
    for (const { parked } of results.values()) parked.forEach(onParked);
    const committedMs = nowMs();
    onBatch({
      projections: [...this.works].map(({ projection }) => projectionId(projection)),
      events,
      changes: [...results.values()].reduce((sum, result) => sum + result.changes.length, 0),
      durationMs: committedMs - startedMs,
      applyMs: committedMs - applyingMs,
      lagEvents: this.lagEvents,
      lagSec: Math.max(0, committedMs - last.atMs) / 1000,
    });
  }

  /** Reads and projects a large batch in parts, so that it neither fills memory nor blocks the thread. */
  async #project(parts: Parts, nowMs: number): Promise<ProjectedBatch> {
    const { isChained } = this.#context;
    const batches = [...this.works].map((work) => {
      const { projection, rows, cache } = work;
      return {
        work,
        batch: new ProjectionBatch(projection, {
          readModel: rows,
          cache,
          nowMs,
          ...(isChained && { chain: { isFirst: this.#position === null } }),
        }),
      };
    });
    let [events, last]: [number, RecordedEvent | null] = [0, null];
    for (const part of parts) {
      if (events > 0) await nextTurn();
      const read = part.map((event) => this.#read(event));
      for (const { batch } of batches) await batch.take(read);
      events += part.length;
      last = must(part.at(-1));
    }
    return { results: new Map(batches.map(({ work, batch }) => [work, batch.result()])), events, last };
  }

  /** If only some fail, those continue alone from where they are; if all do, the batch is retried. */
  async #apply(results: ReadonlyMap<ProjectionWork, BatchResult>, position: Position): Promise<void> {
    const applies = [...results].map(([work, { changes }]) => work.rows.apply(changes, position));
    const outcomes = await Promise.allSettled(applies);
    const failed: ProjectionWork[] = [];
    let firstError: unknown;
    [...results].forEach(([work, { rows }], index) => {
      const outcome = must(outcomes[index]);
      if (outcome.status === 'fulfilled') return rows.commit();
      work.cache.clear();
      failed.push(work);
      firstError ??= outcome.reason;
    });
    if (failed.length === 0) return;
    if (failed.length === results.size) {
      this.#isDoubtful = true;
      throw firstError;
    }
    failed.forEach((work) => this.#leave(work));
  }

  /**
   * A projection at another position must not see the batch: its last apply was committed after all, or its rows were
   * lost.
   */
  async #resolveDoubt(): Promise<void> {
    for (const work of this.works) if ((await work.rows.begin()) !== this.#position) this.#leave(work);
    this.#isDoubtful = false;
  }

  #leave(work: ProjectionWork): void {
    this.works.delete(work);
    this.#context.onStraggler(work);
  }

  #read(recorded: RecordedEvent): ReadEvent {
    try {
      return { recorded, stored: this.#context.decode(recorded) };
    } catch (error) {
      return { recorded, stored: null, error };
    }
  }
}
