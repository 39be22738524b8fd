import type { DomainEvent } from '../domain/events/domain-event.ts';
import type { StoredEvent } from '../domain/events/envelope.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore, Position, RecordedEvent } from '../ports/event-store.ts';
import type { Projection } from '../ports/projection.ts';
import type { ReadModel } from '../ports/read-model.ts';
import { decodeEvent } from './codec.ts';
import { ownedRows, parkedTable, projectionId, type ParkedEvent } from './projection-batch.ts';
import { Lane, type BatchReport, type LaneContext } from './projection-lane.ts';
import { RowCache } from './row-cache.ts';

export interface ProjectionHooks {
  readonly onBatch?: (report: BatchReport) => void;
  /** An alarm: the projection goes on without the event. */
  readonly onParked?: (event: ParkedEvent) => void;
  /** A projection is replayed from the beginning, and why. */
  readonly onRebuild?: (projection: string, reason: 'asked' | 'checkpoint_beyond_log') => void;
  /** What happened outside a batch and is not waited for, such as a straggler that cannot start. */
  readonly onError?: (error: unknown) => void;
}

export interface ProjectionRunnerOptions {
  readonly store: Pick<EventStore, 'subscribe'>;
  readonly readModel: ReadModel;
  readonly projections: readonly Projection[];
  readonly clock: Clock;
  readonly hooks?: ProjectionHooks;
  /** Events taken at a time: bounds how long the thread is held. */
  readonly maxBatch?: number;
  /** Rows kept in memory for each projection. */
  readonly cacheRows?: number;
  readonly decode?: (recorded: RecordedEvent) => StoredEvent<DomainEvent>;
}

export interface ProjectionStatus {
  readonly projection: string;
  readonly position: Position | null;
  readonly hasCaughtUp: boolean;
  readonly lagEvents: number;
  readonly lagSec: number;
}

/** Projections at work, in this thread or another. */
export type RunningProjections = Pick<ProjectionRunner, 'ready' | 'caughtUpTo' | 'rebuild' | 'status' | 'parked' | 'stop'>;

const MAX_BATCH = 128;
const CACHE_ROWS = 20_000;
const CATCH_UP_TIMEOUT_MS = 2_000;
const RESTART_PAUSE_MS = 1_000;

/**
 * Feeds projections from the ledger in order. Those that stand at the same position share one subscription (a lane); one that
 * is new, rebuilt or behind has its own until it meets the others.
 */
export class ProjectionRunner {
  readonly #options: ProjectionRunnerOptions;
  readonly #context: LaneContext;
  readonly #caches = new Map<Projection, RowCache>();
  readonly #lanes = new Set<Lane>();
  #lanesMade = 0;
  #isStopped = false;
  #onChange: (() => void)[] = [];

  constructor(options: ProjectionRunnerOptions) {
    this.#options = options;
    const { hooks } = options;
    this.#context = {
      store: options.store,
      readModel: options.readModel,
      streamPrefixes: [...new Set(options.projections.flatMap((projection) => projection.streamPrefixes))],
      maxBatch: options.maxBatch ?? MAX_BATCH,
      nowMs: () => options.clock.nowMs(),
      cacheOf: (projection) => this.#caches.get(projection)!,
      decode: options.decode ?? decodeEvent,
      onBatch: (report) => hooks?.onBatch?.(report),
      onParked: (event) => hooks?.onParked?.(event),
      onSettled: (lane) => this.#settled(lane),
      onStraggler: (projection) => void this.#restart(projection),
    };
    for (const projection of options.projections) this.#caches.set(projection, new RowCache(options.cacheRows ?? CACHE_ROWS));
  }

  /** Each projection goes on from its checkpoint. Resolves when all are under way. */
  async start(): Promise<void> {
    const byCheckpoint = new Map<Position | null, Projection[]>();
    for (const projection of this.#options.projections) {
      const checkpoint = await this.#options.readModel.begin(projectionId(projection));
      byCheckpoint.set(checkpoint, [...(byCheckpoint.get(checkpoint) ?? []), projection]);
    }
    for (const [checkpoint, projections] of byCheckpoint) await this.#open(projections, checkpoint);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#lanes].map((lane) => lane.close()));
    this.#lanes.clear();
    this.#changed();
  }

  /** Resolves once every projection has seen everything there was at some moment. */
  async ready(): Promise<void> {
    while (!this.#isStopped && (this.#lanes.size === 0 || [...this.#lanes].some((lane) => !lane.hasCaughtUp))) await this.#change();
  }

  /**
   * Waits until the read model holds everything up to `position`, so that callers find what they wrote. True when it does,
   * false when the time was up. A projection that is still being replayed from the beginning is not waited for.
   */
  async caughtUpTo(position: Position, timeoutMs = CATCH_UP_TIMEOUT_MS): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), timeoutMs)));
    try {
      for (;;) {
        const lanes = this.#lanesOfNow();
        if (lanes.length === 0) {
          if ((await Promise.race([timeout, this.#change()])) === 'late') return false;
          continue;
        }
        // A lane that is merged into another one rejects: then the other one is asked.
        const outcome = await Promise.race([
          timeout,
          Promise.all(lanes.map((lane) => lane.reached(position))).then(
            () => 'reached' as const,
            () => 'again' as const,
          ),
        ]);
        if (outcome !== 'again') return outcome === 'reached';
        if (this.#isStopped) return false;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Forgets everything of a projection and replays it. Resolves when the replay has begun. */
  async rebuild(name: string): Promise<void> {
    const projection = this.#options.projections.find((candidate) => candidate.name === name || projectionId(candidate) === name);
    if (!projection) throw new RangeError(`there is no projection ${name}`);
    await this.#replay(projection, 'asked');
  }

  status(): ProjectionStatus[] {
    return [...this.#lanes].flatMap((lane) =>
      [...lane.projections].map((projection) => ({
        projection: projectionId(projection),
        position: lane.position,
        hasCaughtUp: lane.hasCaughtUp,
        lagEvents: lane.lagEvents,
        lagSec: lane.lagSec,
      })),
    );
  }

  /** Events that a projection could not take, oldest first as far as positions sort. */
  async parked(limit = 100): Promise<ParkedEvent[]> {
    const found = await Promise.all(this.#options.projections.map((projection) => this.#options.readModel.scan(parkedTable(projection), { limit })));
    return found.flat().map((entry) => entry.row as ParkedEvent);
  }

  async #open(projections: readonly Projection[], after: Position | null): Promise<void> {
    if (this.#isStopped) return;
    this.#lanesMade += 1;
    try {
      this.#lanes.add(new Lane(`projections-${this.#lanesMade}`, projections, after, this.#context));
    } catch (error) {
      // The store refuses a position that it never gave: the log was restored from an older copy, and what was derived from it is wrong.
      if (after === null || !(error instanceof RangeError)) throw error;
      for (const projection of projections) await this.#replay(projection, 'checkpoint_beyond_log');
    }
    this.#changed();
  }

  async #replay(projection: Projection, reason: 'asked' | 'checkpoint_beyond_log'): Promise<void> {
    this.#options.hooks?.onRebuild?.(projectionId(projection), reason);
    await this.#release(projection);
    await this.#options.readModel.clear(ownedRows(projection));
    this.#caches.get(projection)!.clear();
    await this.#open([projection], await this.#options.readModel.begin(projectionId(projection)));
  }

  async #release(projection: Projection): Promise<void> {
    for (const lane of this.#lanes) {
      if (!lane.projections.has(projection)) continue;
      await lane.release(projection);
      if (lane.projections.size === 0) this.#close(lane);
    }
  }

  async #restart(projection: Projection): Promise<void> {
    while (!this.#isStopped) {
      try {
        const checkpoint = await this.#options.readModel.begin(projectionId(projection));
        // Its rows are of another history now.
        this.#caches.get(projection)!.clear();
        return await this.#open([projection], checkpoint);
      } catch (error) {
        this.#options.hooks?.onError?.(error);
        await new Promise((resolve) => setTimeout(resolve, RESTART_PAUSE_MS));
      }
    }
  }

  /** Lanes that stand at the same position become one. */
  #settled(lane: Lane): void {
    for (const other of this.#lanes) {
      if (other === lane || !other.isIdle || !lane.isIdle || other.position !== lane.position || other.hasCaughtUp !== lane.hasCaughtUp) continue;
      for (const projection of other.projections) lane.projections.add(projection);
      this.#close(other);
    }
    if (lane.projections.size === 0) this.#close(lane);
    this.#changed();
  }

  #close(lane: Lane): void {
    this.#lanes.delete(lane);
    lane.close().catch((error: unknown) => this.#options.hooks?.onError?.(error));
  }

  /** All but those that are being replayed from the beginning, unless all are. */
  #lanesOfNow(): Lane[] {
    const lanes = [...this.#lanes];
    const current = lanes.filter((lane) => lane.hasCaughtUp);
    return current.length > 0 ? current : lanes;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#onChange.push(resolve));
  }

  #changed(): void {
    for (const resolve of this.#onChange.splice(0)) resolve();
  }
}
