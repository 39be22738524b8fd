import type { Position } from '../../ports/event-log/event-store.ts';
import type { Log } from '../../ports/log.ts';
import type { Timers } from '../../ports/timers.ts';
import type { Backlog, BacklogEntry, RowRef } from './backlog.ts';

export interface PostponedDeps {
  readonly backlog: Backlog;
  readonly timers: Timers;
  readonly log: Log;
  readonly handled: () => Position | null;
  /** False if the entry's endpoint is suspended or busy. */
  readonly mayGo: (entry: BacklogEntry) => boolean;
  readonly takeUp: (entry: BacklogEntry) => void;
}

const PAGE = 200;
/** How long postponed work is deferred while its endpoint is suspended or busy. */
const STAND_BACK_MS = 5 * 60_000;
const AGAIN_MS = 1_000;

/** Deliveries whose next attempt is far off. They wait in the backlog, however many there are, and use no memory. */
export class PostponedWork {
  readonly #deps: PostponedDeps;
  #timer: { atMs: number; cancel: () => void } | null = null;
  #stopped = false;
  /** Number of running reads. */
  reading = 0;

  constructor(deps: PostponedDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#arm(this.#deps.timers.nowMs());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Moves an entry to the time of its next attempt. */
  postpone(entry: Omit<BacklogEntry, 'ref'>, from: RowRef, dueAtMs: number): void {
    this.#deps.backlog.postpone(entry, from, dueAtMs);
    this.#arm(dueAtMs);
  }

  #arm(atMs: number): void {
    if (this.#stopped || (this.#timer && this.#timer.atMs <= atMs)) return;
    this.#timer?.cancel();
    const cancel = this.#deps.timers.at(atMs, () => {
      this.#timer = null;
      void this.#wake();
    });
    this.#timer = { atMs, cancel };
  }

  async #wake(): Promise<void> {
    this.reading += 1;
    try {
      await this.#takeUpDue();
    } catch (error) {
      this.#deps.log.error({ err: error }, 'postponed webhook deliveries could not be read');
      this.#arm(this.#deps.timers.nowMs() + AGAIN_MS);
    } finally {
      this.reading -= 1;
    }
  }

  /** Starts what is due. Entries that cannot go now are deferred and do not block others. */
  async #takeUpDue(): Promise<void> {
    const { backlog, timers, handled, mayGo, takeUp } = this.#deps;
    const isWritten = await backlog.flush(handled());
    const entries = await backlog.later(PAGE);
    const nowMs = timers.nowMs();
    for (const entry of entries) {
      if (entry.dueAtMs > nowMs) break;
      if (mayGo(entry)) takeUp(entry);
      else this.postpone(entry, entry.ref, nowMs + STAND_BACK_MS);
    }
    const next = entries.find((entry) => entry.dueAtMs > nowMs);
    if (next) this.#arm(next.dueAtMs);
    if (!isWritten || (!next && entries.length === PAGE)) this.#arm(nowMs + AGAIN_MS);
  }
}
