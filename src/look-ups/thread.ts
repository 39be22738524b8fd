import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import { openSqliteReadModel } from '../adapters/sqlite/read-model/read-model.ts';
import { type EventStore, type Position, type Subscription, StoreUnavailable } from '../ports/event-log/event-store.ts';
import type { ReadModel } from '../ports/read-model/read-model.ts';
import { type ParkedEvent, projectionId } from '../runtime/projections/batch.ts';
import type { ProjectionHooks } from '../runtime/projections/hooks.ts';
import { CATCH_UP_TIMEOUT_MS, type RunningProjections } from '../runtime/projections/runner.ts';
import { RebuildRunning, type ProjectionStatus } from '../runtime/projections/status.ts';
import { PROJECTIONS, projectionsNamed } from './projections.ts';
import { isLater } from './followed-log.ts';
import type { Answers, Follows, FromProjections, Question, ToProjections } from './messages.ts';
import { within } from '../runtime/util/within.ts';
import { threadEnvironment } from '../runtime/util/thread-environment.ts';

/**
 * This process's read model with its projections in one thread. Queries run here, everything else there. An event log
 * in files must exist. Call `stop()` before `readModel.close()`, which ends the thread.
 */
export async function openProjectionThread(
  dataDir: string,
  follows = followsFiles(dataDir),
): Promise<ProjectionThread> {
  const { port1: control, port2 } = new MessageChannel();
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    name: 'projections',
    workerData: { ...follows, control: port2 },
    transferList: [port2],
    execArgv: [],
    env: threadEnvironment(),
    // The events of a batch live as long as the batch; a small nursery would promote all of them.
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
  const readModel = await openSqliteReadModel({ dataDir, worker });
  return new ProjectionThread(readModel, worker, control, follows);
}

/** All look-ups of the log in the files next to them. */
export const followsFiles = (dataDir: string, archiveAfterDays?: number): Follows => ({
  dataDir,
  log: { kind: 'files' },
  projections: PROJECTIONS.map(projectionId),
  archiveAfterDays,
});

/**
 * Under load new events are signalled together, so that many of them share the cost of a commit; waiting callers are
 * not delayed.
 */
const ADVANCE_EVERY_MS = 100;
const YOUNG_MB = 96;
/** A healthy thread reports every second. */
const SILENCE_MS = 5_000;
/** The thread keeps the time of waiting callers; if it is held up for longer, they stop waiting. */
const LATE_MS = 1_000;
const ENDED = "the projections' thread has ended";

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class ProjectionThread implements RunningProjections {
  readonly readModel: ReadModel;
  readonly follows: Follows;
  readonly #control: MessagePort;
  readonly #waiting = new Map<number, Waiting>();
  #hooks: ProjectionHooks = {};
  #status: readonly ProjectionStatus[] = [];
  #heardAtMs = performance.now();
  #subscription: Subscription | null = null;
  #lastId = 0;
  #isGone = false;
  #advancing: NodeJS.Timeout | null = null;
  #advancedAtMs = 0;
  /** The last position known to be in the read model, so that a list without further writes need not ask. */
  #reached: Position | null = null;

  constructor(readModel: ReadModel, worker: Worker, control: MessagePort, follows: Follows) {
    this.readModel = readModel;
    this.follows = follows;
    this.#control = control;
    control.on('message', (message: FromProjections) => this.#take(message));
    worker.on('error', (error: Error) => this.#hooks.onError?.(error));
    worker.on('exit', () => this.#end());
  }

  /** Follows the event log from each projection's checkpoint. Resolves once all are running. */
  async start(store: Pick<EventStore, 'subscribe' | 'head'>, hooks: ProjectionHooks = {}): Promise<void> {
    this.#hooks = hooks;
    // Servers signal the thread themselves.
    if (this.follows.log.kind === 'files') this.#subscription = await this.#watch(store);
    await this.#ask({ kind: 'start' });
  }

  async #watch(store: Pick<EventStore, 'subscribe' | 'head'>): Promise<Subscription> {
    const streamPrefixes = [
      ...new Set(projectionsNamed(this.follows.projections).flatMap((projection) => projection.streamPrefixes)),
    ];
    return store.subscribe({
      name: 'projection-thread',
      after: await store.head(),
      streamPrefixes,
      onEvents: () => this.#advance(),
    });
  }

  async ready(): Promise<void> {
    await this.#ask({ kind: 'ready' });
  }

  /** Rejects with `StoreUnavailable` if the thread has ended. */
  async caughtUpTo(position: Position, timeoutMs = CATCH_UP_TIMEOUT_MS): Promise<boolean> {
    if (this.#isReached(position)) return true;
    const hasReached = await this.#reach(position, timeoutMs);
    if (hasReached && !this.#isReached(position)) this.#reached = position;
    return hasReached;
  }

  #isReached(position: Position): boolean {
    return this.#reached !== null && !isLater(this.follows.log, position, this.#reached);
  }

  async #reach(position: Position, timeoutMs: number): Promise<boolean> {
    const answer = this.#ask({ kind: 'reach', position, timeoutMs });
    const id = this.#lastId;
    try {
      return await within(timeoutMs + LATE_MS, answer, () => false);
    } finally {
      this.#waiting.delete(id);
    }
  }

  async rebuild(names: readonly string[]): Promise<void> {
    await this.#ask({ kind: 'rebuild', names });
  }

  /** A thread that hangs or has ended reports no lag; the time of its silence is then a lower bound. */
  status(): ProjectionStatus[] {
    const silentMs = performance.now() - this.#heardAtMs;
    if (silentMs < SILENCE_MS) return [...this.#status];
    return this.#status.map((status) => ({ ...status, lagSec: Math.max(status.lagSec, silentMs / 1000) }));
  }

  async parked(limit?: number): Promise<ParkedEvent[]> {
    return this.#ask({ kind: 'parked', limit });
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
    if (this.#advancing) clearTimeout(this.#advancing);
    if (!this.#isGone) await this.#ask({ kind: 'stop' });
    this.#control.close();
  }

  #advance(): void {
    if (this.#advancing) return;
    const waitMs = this.#advancedAtMs + ADVANCE_EVERY_MS - performance.now();
    const tell = (): void => {
      this.#advancing = null;
      this.#advancedAtMs = performance.now();
      if (!this.#isGone) this.#post({ kind: 'advance' });
    };
    if (waitMs <= 0) return tell();
    this.#advancing = setTimeout(tell, waitMs);
  }

  #take(message: FromProjections): void {
    switch (message.kind) {
      case 'answer':
        return this.#settle(message.id)?.resolve(message.value);
      case 'refusal':
        return this.#settle(message.id)?.reject(
          message.name === 'RebuildRunning' ? new RebuildRunning(message.message) : new Error(message.message),
        );
      case 'status':
        this.#heardAtMs = performance.now();
        this.#status = message.status;
        if (message.report) this.#hooks.onBatch?.(message.report);
        return;
      case 'parked':
        return this.#hooks.onParked?.(message.event);
      case 'rebuilding':
        return this.#hooks.onRebuild?.(message.projection, message.reason);
      case 'switched':
        return this.#hooks.onSwitched?.(message.projection);
      case 'error':
        return this.#hooks.onError?.(new Error(message.message));
    }
  }

  #ask<Kind extends keyof Answers>(question: Question & { readonly kind: Kind }): Promise<Answers[Kind]>;
  #ask(question: Question): Promise<unknown> {
    if (this.#isGone) return Promise.reject(new StoreUnavailable(ENDED));
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#post({ ...question, id });
    });
  }

  #post(message: ToProjections): void {
    this.#control.postMessage(message);
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #end(): void {
    this.#isGone = true;
    for (const { reject } of this.#waiting.values()) reject(new StoreUnavailable(ENDED));
    this.#waiting.clear();
  }
}
