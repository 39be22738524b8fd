import { setTimeout as sleep } from 'node:timers/promises';
import { isAfter, parsePosition } from '../adapters/esdb/position.ts';
import type { Logger } from '../observability/logger.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import type { Leases } from '../ports/leases.ts';
import type { ReadModel } from '../ports/read-model.ts';
import { storeWith } from '../ports/store-with.ts';
import { parkedTable, projectionId, type ParkedEvent } from '../runtime/projections/batch.ts';
import type { ProjectionHooks } from '../runtime/projections/hooks.ts';
import { ProjectionRunner, type ProjectionStatus } from '../runtime/projections/runner.ts';
import { withLease, type LeasedWork, type LeaseGrant, type RunningLease } from '../runtime/leases/with-lease.ts';
import { PROJECTIONS } from './projections.ts';
import type { ServiceProjections } from './storage-parts.ts';

export interface SharedProjectionsDeps {
  readonly store: Pick<EventStore, 'readAll'>;
  /** Only the runner uses it. */
  readonly projectedModel: ReadModel;
  readonly readModel: ReadModel;
  readonly leases: Leases;
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether this process takes its turn at running them. */
  readonly runs: boolean;
}

/** What the ledger holds behind the place that the rows have reached. */
interface Ahead {
  readonly from: Position | null;
  /** Up to here nothing that they would show. */
  readonly clearTo: Position | null;
  /** The first event that they will show; null while none is known. */
  readonly next: Position | null;
}

const LEASE = 'projections';
const MAX_BATCH = 512;
const LOOK_MS = 10;
const WAIT_MS = 2_000;
/** Lists may show lost rows for so long before anybody looks. */
const TRUSTED_MS = 1_000;
/** How often the stored checkpoints are compared with where the runner is. */
const CHECK_MS = 1_000;

/** The look-ups of all processes: one of them projects, all of them see how far it is. */
export class SharedProjections implements ServiceProjections {
  readonly #deps: SharedProjectionsDeps;
  readonly #prefixes: readonly string[] = [...new Set(PROJECTIONS.flatMap((projection) => projection.streamPrefixes))];
  #hooks: ProjectionHooks = {};
  #runner: ProjectionRunner | null = null;
  #lease: RunningLease | null = null;
  /** The last thing this process wrote that a projection will show. */
  #lastWritten: Position | null = null;
  /** How far the look-ups were when somebody last asked, and when that was (`performance.now()`). */
  #reached: Position | null = null;
  #lookedAtMs = -Infinity;
  #ahead: Ahead | null = null;

  constructor(deps: SharedProjectionsDeps) {
    this.#deps = deps;
  }

  /** The store, with an eye on what this process appends. */
  observe(store: EventStore): EventStore {
    return storeWith(store, {
      append: async (request) => {
        const result = await store.append(request);
        if (result.ok && this.#prefixes.some((prefix) => request.stream.startsWith(prefix))) this.#wrote(result.position);
        return result;
      },
    });
  }

  async start(store: EventStore, hooks: ProjectionHooks = {}): Promise<void> {
    this.#hooks = hooks;
    if (!this.#deps.runs) return;
    this.#lease = withLease(LEASE, (grant) => this.#run(store, grant), this.#deps);
    await this.#lease.first;
  }

  async ready(): Promise<void> {
    if (this.#runner) await this.#runner.ready();
  }

  /** Resolves once everything this process wrote is listed, or after a bounded wait. */
  async caughtUp(): Promise<void> {
    const written = this.#lastWritten;
    if (written === null || (performance.now() - this.#lookedAtMs < TRUSTED_MS && isReached(written, this.#reached))) return;
    await this.#waitFor((reached) => isReached(written, reached), WAIT_MS);
  }

  /** Also when the ledger holds events up to `position` that no look-up shows: those move no checkpoint. */
  caughtUpTo(position: Position, timeoutMs = WAIT_MS): Promise<boolean> {
    let before = this.#reached;
    const isThere = async (reached: Position | null): Promise<boolean> => {
      if (isReached(position, reached)) return true;
      // Rows that move on are asked again before the ledger is.
      const isStanding = before === reached;
      before = reached;
      return isStanding && (await this.#isNothingOwed(reached, position));
    };
    return this.#waitFor(isThere, timeoutMs);
  }

  async rebuild(names: readonly string[]): Promise<void> {
    if (!this.#runner) throw new RangeError('the projections run in another process: ask there, or empty Redis');
    await this.#runner.rebuild(names);
  }

  status(): ProjectionStatus[] {
    return this.#runner?.status() ?? [];
  }

  async parked(limit = 100): Promise<ParkedEvent[]> {
    const found = await Promise.all(PROJECTIONS.map((projection) => this.#deps.readModel.scan(parkedTable(projection), { limit })));
    return found.flat().map(({ row }) => row as ParkedEvent);
  }

  async stop(): Promise<void> {
    await this.#lease?.close();
  }

  /** Asks Redis each time: rows that were reached a moment ago may be lost by now. */
  async #waitFor(isThere: (reached: Position | null) => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
    for (const untilMs = performance.now() + timeoutMs; ;) {
      this.#lookedAtMs = performance.now();
      this.#reached = [...(await this.#checkpoints()).values()].reduce(earlier);
      if (await isThere(this.#reached)) return true;
      if (performance.now() > untilMs) return false;
      await sleep(LOOK_MS);
    }
  }

  /** Whether no event after `reached` and up to `position` will be shown. What was read of the ledger once is not read again. */
  async #isNothingOwed(reached: Position | null, position: Position): Promise<boolean> {
    let ahead: Ahead = this.#ahead?.from === reached ? this.#ahead : { from: reached, clearTo: reached, next: null };
    if (ahead.next === null && !isReached(position, ahead.clearTo)) {
      const [next] = await this.#deps.store.readAll({ after: ahead.clearTo, limit: 1, streamPrefixes: this.#prefixes });
      ahead = next ? { ...ahead, next: next.position } : { ...ahead, clearTo: position };
      this.#ahead = ahead;
    }
    return ahead.next === null ? isReached(position, ahead.clearTo) : !isReached(ahead.next, position);
  }

  async #run(store: EventStore, grant: LeaseGrant): Promise<LeasedWork> {
    const { projectedModel: readModel, clock } = this.#deps;
    const runner = new ProjectionRunner({ store, readModel, projections: PROJECTIONS, clock, maxBatch: MAX_BATCH, hooks: this.#hooks });
    try {
      await runner.start();
    } catch (error) {
      // What is under way already would go on to write the rows beside the next one.
      await runner.stop();
      throw error;
    }
    this.#runner = runner;
    const stopChecking = this.#watchForLoss(runner, grant);
    return {
      stop: async () => {
        this.#runner = null;
        stopChecking();
        await runner.stop();
      },
    };
  }

  /** Without new events nobody would notice that rows were lost: what stands still at two different places is begun anew from there. */
  #watchForLoss(runner: ProjectionRunner, grant: LeaseGrant): () => void {
    let seenBefore = '';
    let isChecking = false;
    const check = async (): Promise<void> => {
      if (isChecking) return;
      isChecking = true;
      try {
        const before = positionsOf(runner);
        const stored = await this.#checkpoints();
        const differing = [...stored].filter(([id, checkpoint]) => before.get(id) !== checkpoint);
        const seen = JSON.stringify(differing.map(([id, checkpoint]) => [id, before.get(id), checkpoint]));
        if (differing.length > 0 && seen === seenBefore) {
          this.#reached = null;
          grant.restart(new Error(`rows of ${differing.map(([id]) => id).join(', ')} were lost`));
        }
        seenBefore = seen;
      } catch {
        seenBefore = '';
      } finally {
        isChecking = false;
      }
    };
    const timer = setInterval(() => void check(), CHECK_MS).unref();
    return () => clearInterval(timer);
  }

  async #checkpoints(): Promise<Map<string, Position | null>> {
    const { readModel } = this.#deps;
    return new Map(await Promise.all(PROJECTIONS.map(async (it) => [projectionId(it), await readModel.checkpoint(projectionId(it))] as const)));
  }

  #wrote(position: Position): void {
    if (this.#lastWritten === null || isAfter(parsePosition(position), parsePosition(this.#lastWritten))) this.#lastWritten = position;
  }
}

const positionsOf = (runner: ProjectionRunner): Map<string, Position | null> =>
  new Map(runner.status().map(({ projection, position }) => [projection, position]));

const isReached = (position: Position, reached: Position | null): boolean =>
  reached !== null && !isAfter(parsePosition(position), parsePosition(reached));

/** Nothing was projected where one projection has not begun. */
const earlier = (one: Position | null, other: Position | null): Position | null =>
  one === null || other === null ? null : isAfter(parsePosition(one), parsePosition(other)) ? other : one;
