import type { Position } from '../../ports/event-log/event-store.ts';
import type { Projection } from '../../ports/read-model/projection.ts';
import { decodeEvent } from '../commands/codec.ts';
import { ownedRows, parkedTable, projectionId, type ParkedEvent } from './batch.ts';
import { ProjectionGroup, type GroupContext } from './group.ts';
import type { ProjectionRunnerOptions } from './runner-options.ts';
import { RebuildRunning, type ProjectionStatus } from './status.ts';
import { takePlace, whileTheyStand } from './switch.ts';
import { nextWork, servedWork, type ProjectionWork } from './work.ts';
import { must } from '../../domain/values/must.ts';

/** Running projections, in this thread or another. */
export type RunningProjections = Pick<
  ProjectionRunner,
  'ready' | 'caughtUpTo' | 'rebuild' | 'status' | 'parked' | 'stop'
>;

interface BegunWork {
  readonly work: ProjectionWork;
  readonly checkpoint: Position | null;
}

const MAX_BATCH = 128;
const CACHE_ROWS = 20_000;
/** Default timeout of `caughtUpTo`. */
export const CATCH_UP_TIMEOUT_MS = 2_000;
const RESTART_PAUSE_MS = 1_000;

/**
 * Feeds projections from the event log in order. Projections at the same position share one subscription (a group); one
 * that is new or behind has its own until it catches up with the others. A rebuild fills separate rows beside the
 * served ones and replaces them once it has caught up.
 */
export class ProjectionRunner {
  readonly #options: ProjectionRunnerOptions;
  readonly #context: GroupContext;
  readonly #groups = new Set<ProjectionGroup>();
  /** Projections whose rows are being rebuilt beside the served ones. */
  readonly #rebuilding = new Set<Projection>();
  /** In no group until they are running again. */
  readonly #restarting = new Set<ProjectionWork>();
  #switching: Promise<void> | null = null;
  #groupsMade = 0;
  #isStopped = false;
  #onChange: (() => void)[] = [];

  constructor(options: ProjectionRunnerOptions) {
    this.#options = options;
    const { hooks } = options;
    this.#context = {
      store: options.store,
      streamPrefixes: [...new Set(options.projections.flatMap((projection) => projection.streamPrefixes))],
      maxBatch: options.maxBatch ?? MAX_BATCH,
      nowMs: () => options.clock.nowMs(),
      decode: options.decode ?? decodeEvent,
      isChained: options.isChained ?? false,
      onBatch: (report) => hooks?.onBatch?.(report),
      onParked: (event) => hooks?.onParked?.(event),
      onSettled: (group) => this.#settled(group),
      onStraggler: (work) => void this.#restart(work),
    };
  }

  /**
   * Continues each projection from its checkpoint, and each interrupted rebuild. A new projection is built like a
   * rebuild: its rows are served once they are complete. Resolves when all are running.
   */
  async start(): Promise<void> {
    const served: BegunWork[] = [];
    const built: BegunWork[] = [];
    for (const projection of this.#options.projections) {
      const work = this.#served(projection);
      const checkpoint = await work.rows.begin();
      if (checkpoint !== null) served.push({ work, checkpoint });
      const next = this.#next(projection);
      const isBegun = await next.next.isBegun();
      if (checkpoint !== null && !isBegun) continue;
      this.#rebuilding.add(projection);
      if (isBegun) this.#options.hooks?.onRebuild?.(projectionId(projection), 'resumed');
      built.push({ work: next, checkpoint: await next.rows.begin() });
    }
    // Those that stand at the same position share a group.
    for (const begun of [served, built])
      for (const [checkpoint, group] of Map.groupBy(begun, (one) => one.checkpoint))
        await this.#open(
          group.map(({ work }) => work),
          checkpoint,
        );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#switching;
    await Promise.all([...this.#groups].map((group) => group.close()));
    this.#groups.clear();
    this.#changed();
  }

  /** Resolves once every projection has reached a current end of the log, and rebuilt rows are served. */
  async ready(): Promise<void> {
    const isWaiting = (): boolean =>
      this.#groups.size === 0 || this.#rebuilding.size > 0 || [...this.#groups].some((group) => !group.hasCaughtUp);
    while (!this.#isStopped && isWaiting()) await this.#change();
  }

  /**
   * Waits until the read model contains everything up to `position`, so that callers find what they wrote. True if it
   * does, false on timeout. Does not wait for rows being built.
   */
  async caughtUpTo(position: Position, timeoutMs = CATCH_UP_TIMEOUT_MS): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), timeoutMs)));
    try {
      for (;;) {
        const groups = this.#groupsOfNow();
        if (groups.length === 0) {
          if ((await Promise.race([timeout, this.#change()])) === 'late') return false;
          continue;
        }
        // A group that merges into another one rejects; the other one is then asked.
        const outcome = await Promise.race([
          timeout,
          Promise.all(groups.map((group) => group.reached(position))).then(
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

  /**
   * Rebuilds the rows of projections (`name` or `name@version`) beside the served ones, which are read until the new
   * ones have caught up and replace them in one step. Resolves when the replay has started. Throws `RebuildRunning`
   * while one of them is being rebuilt.
   */
  async rebuild(names: readonly string[]): Promise<void> {
    const wanted = names.map((name) => {
      const found = this.#options.projections.find(
        (candidate) => candidate.name === name || projectionId(candidate) === name,
      );
      if (!found) throw new RangeError(`there is no projection ${name}`);
      return found;
    });
    const running = wanted.find((projection) => this.#rebuilding.has(projection));
    if (running) throw new RebuildRunning(`${running.name} is being rebuilt already`);
    for (const projection of wanted) this.#rebuilding.add(projection);
    try {
      const works = wanted.map((projection) => this.#next(projection));
      for (const { projection, next } of works) {
        this.#options.hooks?.onRebuild?.(projectionId(projection), 'asked');
        await next.drop();
        await next.begin();
      }
      await this.#open(works, null);
    } catch (error) {
      for (const projection of wanted) this.#rebuilding.delete(projection);
      throw error;
    }
  }

  /**
   * Status of the served rows; for a projection without any, of those being built. One without a group has caught up
   * with nothing.
   */
  status(): ProjectionStatus[] {
    const onGroups = [...this.#groups].flatMap((group) =>
      [...group.works].map((work): { group: ProjectionGroup | null; work: ProjectionWork } => ({ group, work })),
    );
    const between = [...this.#restarting]
      .filter((work) => !onGroups.some((other) => other.work === work))
      .map((work) => ({ group: null, work }));
    const works = [...onGroups, ...between];
    const served = new Set(works.filter(({ work }) => work.next === null).map(({ work }) => work.projection));
    return works
      .filter(({ work }) => work.next === null || !served.has(work.projection))
      .map(({ group, work: { projection, next } }) => ({
        projection: projectionId(projection),
        position: next ? null : (group?.position ?? null),
        hasCaughtUp: next === null && group?.hasCaughtUp === true,
        lagEvents: group?.lagEvents ?? 0,
        lagSec: group?.lagSec ?? 0,
      }));
  }

  /** Events that a projection could not process, oldest first as far as positions sort. */
  async parked(limit = 100): Promise<ParkedEvent[]> {
    const found = await Promise.all(
      this.#options.projections.map((projection) => this.#options.readModel.scan(parkedTable(projection), { limit })),
    );
    return found.flat().map((entry) => entry.row as ParkedEvent);
  }

  #served(projection: Projection): ProjectionWork {
    return servedWork(this.#options.readModel, projection, this.#options.cacheRows ?? CACHE_ROWS);
  }

  #next(projection: Projection): ReturnType<typeof nextWork> {
    return nextWork(this.#options.readModel, projection, this.#options.cacheRows ?? CACHE_ROWS);
  }

  async #open(works: readonly ProjectionWork[], after: Position | null): Promise<void> {
    if (this.#isStopped) return;
    this.#groupsMade += 1;
    try {
      this.#groups.add(new ProjectionGroup(`projections-${this.#groupsMade}`, works, after, this.#context));
    } catch (error) {
      // The store refuses a position that it never gave: the log was restored from an older copy, so what was derived
      // from it is wrong.
      if (after === null || !(error instanceof RangeError)) throw error;
      for (const work of works) await this.#replay(work);
    }
    this.#changed();
  }

  /** Discards wrong rows, which must not be served while others are built. */
  async #replay({ projection, next }: ProjectionWork): Promise<void> {
    if (next) {
      await next.drop();
      const again = this.#next(projection);
      return this.#open([again], await again.rows.begin());
    }
    this.#options.hooks?.onRebuild?.(projectionId(projection), 'checkpoint_beyond_log');
    await this.#options.readModel.clear(ownedRows(projection));
    await this.#build(projection);
  }

  /** Lost rows are built like in a rebuild; in place they would be served incomplete. */
  async #build(projection: Projection): Promise<void> {
    if (this.#rebuilding.has(projection)) return;
    this.#rebuilding.add(projection);
    try {
      const work = this.#next(projection);
      await this.#open([work], await work.rows.begin());
    } catch (error) {
      this.#rebuilding.delete(projection);
      throw error;
    }
  }

  async #restart(work: ProjectionWork): Promise<void> {
    this.#restarting.add(work);
    while (!this.#isStopped) {
      try {
        const checkpoint = await work.rows.begin();
        // Its rows belong to another history now.
        work.cache.clear();
        if (checkpoint === null && work.next === null) await this.#build(work.projection);
        else await this.#open([work], checkpoint);
        break;
      } catch (error) {
        this.#options.hooks?.onError?.(error);
        await new Promise((resolve) => setTimeout(resolve, RESTART_PAUSE_MS));
      }
    }
    this.#restarting.delete(work);
  }

  /** Merges groups at the same position; rows that were built and have caught up replace the served ones. */
  #settled(group: ProjectionGroup): void {
    for (const other of this.#groups) {
      if (
        other === group ||
        !other.isIdle ||
        !group.isIdle ||
        other.position !== group.position ||
        other.hasCaughtUp !== group.hasCaughtUp
      )
        continue;
      if (other.isNext !== group.isNext || this.#switching) continue;
      for (const work of other.works) group.works.add(work);
      this.#close(other);
    }
    if (group.works.size === 0) this.#close(group);
    else if (group.isNext && group.hasCaughtUp && !this.#switching) this.#startSwitch(group);
    this.#changed();
  }

  #startSwitch(built: ProjectionGroup): void {
    this.#switching = this.#switch(built).then((isDone) => {
      this.#switching = null;
      for (const group of this.#groups) if (group.works.size === 0) this.#close(group);
      // Without another event nothing else would merge groups, check rows being built, or retry.
      if (isDone) this.#settleAll();
      else setTimeout(() => this.#settleAll(), RESTART_PAUSE_MS).unref();
      this.#changed();
    });
  }

  #settleAll(): void {
    if (!this.#isStopped)
      for (const group of [...this.#groups]) if (this.#groups.has(group) && group.hasCaughtUp) this.#settled(group);
  }

  async #switch(built: ProjectionGroup): Promise<boolean> {
    try {
      const works = (): ProjectionWork[] => [...built.works].filter(({ next }) => next !== null);
      const projections = new Set(works().map(({ projection }) => projection));
      const isReplaced = ({ projection, next }: ProjectionWork): boolean =>
        next === null && projections.has(projection);
      const isRestarting = (): boolean => [...this.#restarting].some(isReplaced);
      const serving = (): ProjectionGroup[] => [...this.#groups].filter((group) => [...group.works].some(isReplaced));
      if (isRestarting()) return false;
      const held = serving();
      return await whileTheyStand(built, held, async () => {
        // A projection that left its group keeps running and would continue in the new rows from its position in the
        // old ones.
        if (isRestarting() || serving().some((group) => !held.includes(group))) return false;
        // The built rows may have been lost in the meantime; they then start over in another group.
        for (const work of works()) await this.#switchOne(work, built, held);
        return true;
      });
    } catch (error) {
      this.#options.hooks?.onError?.(error);
      return false;
    }
  }

  async #switchOne(work: ProjectionWork, built: ProjectionGroup, serving: readonly ProjectionGroup[]): Promise<void> {
    const { projection } = work;
    try {
      // If the event log is empty, so are the served rows.
      if (built.position === null) await must(work.next).drop();
      else await must(work.next).promote();
    } catch (error) {
      // It is unknown whether the switch happened. The served rows detect it at the next write; the built rows start
      // from their checkpoint.
      built.works.delete(work);
      void this.#restart(work);
      throw error;
    }
    const served: ProjectionWork = { ...this.#served(projection), cache: work.cache };
    takePlace(work, served, built, serving);
    this.#rebuilding.delete(projection);
    if (built.position !== null) this.#options.hooks?.onSwitched?.(projectionId(projection));
  }

  #close(group: ProjectionGroup): void {
    this.#groups.delete(group);
    group.close().catch((error: unknown) => this.#options.hooks?.onError?.(error));
  }

  /** Groups of served rows, without those being filled for the first time, unless all are. */
  #groupsOfNow(): ProjectionGroup[] {
    const groups = [...this.#groups].filter((group) => !group.isNext);
    const current = groups.filter((group) => group.hasCaughtUp);
    return current.length > 0 ? current : groups;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#onChange.push(resolve));
  }

  #changed(): void {
    for (const resolve of this.#onChange.splice(0)) resolve();
  }
}
