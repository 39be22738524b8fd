import type { AwaitedPayments, IdlePace } from './chain/types.ts';

export interface NeedParts {
  /** Absent: as if a payment were expected all the time. */
  readonly awaited: AwaitedPayments | undefined;
  /** Number of deposits that can still change. */
  readonly unsettled: () => number;
  readonly idle: Pick<IdlePace, 'afterMs'>;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** Whether anybody depends on how soon a network is read. Begins as needed, since a payment may wait from before. */
export class Need {
  readonly #parts: NeedParts;
  #neededAtMs: number;

  constructor(parts: NeedParts) {
    this.#parts = parts;
    this.#neededAtMs = parts.nowMs();
  }

  get isIdle(): boolean {
    const { awaited, unsettled, idle, nowMs } = this.#parts;
    if (awaited === undefined || awaited.isAwaited() || unsettled() > 0) {
      this.#neededAtMs = nowMs();
      return false;
    }
    return nowMs() - this.#neededAtMs >= idle.afterMs;
  }
}
