import type { SweepMark } from '../../../domain/events/operations-events.ts';
import { TURNS } from '../../../domain/sweep-turns.ts';
import { must } from '../../../domain/must.ts';

/**
 * One round after the other over the ended sessions of a tier, each in its interval. How far a round has come is
 * durable, so a restart neither begins it anew nor makes anybody wait for longer than one interval of running.
 */
export class SolanaSweep {
  readonly #intervalMs: number;
  #mark: SweepMark | null = null;
  #startedAtMs = 0;
  #hurried: number;

  /** `atOnce`: after a start everybody is looked at without delay, since money may have come meanwhile. */
  constructor(intervalMs: number, atOnce: boolean) {
    this.#intervalMs = intervalMs;
    this.#hurried = atOnce ? TURNS : 0;
  }

  /** Null before `begin`. */
  get mark(): SweepMark | null {
    return this.#mark;
  }

  /** The next turn. */
  get position(): number {
    return this.#mark === null || this.#isOver ? 0 : this.#mark.turns;
  }

  /**
   * Takes up what an earlier run left. `timeSec`: chain time from which on balances will be read; `ageMs`: how long ago
   * the round left began.
   */
  begin(left: SweepMark | null, timeSec: number, ageMs: number, nowMs: number): void {
    this.#mark = left ?? { startedSec: timeSec, previousSec: null, turns: 0 };
    this.#startedAtMs = left === null ? nowMs : nowMs - Math.max(0, ageMs);
  }

  /** How many turns are due. */
  due(nowMs: number): number {
    if (this.#hurried > 0) return Math.min(this.#hurried, TURNS - this.position);
    const startedAtMs = this.#isOver ? this.#nextStart(nowMs) : this.#startedAtMs;
    const share = Math.floor(((nowMs - startedAtMs) / this.#intervalMs) * TURNS);
    return Math.max(0, Math.min(TURNS, share) - this.position);
  }

  /** So many turns were looked at, in balances of this chain time or later. */
  done(turns: number, timeSec: number, nowMs: number): void {
    if (this.#isOver) {
      this.#startedAtMs = this.#nextStart(nowMs);
      this.#mark = { startedSec: timeSec, previousSec: must(this.#mark).startedSec, turns: 0 };
    }
    this.#mark = { ...must(this.#mark), turns: must(this.#mark).turns + turns };
    if (this.#hurried === 0) return;
    this.#hurried -= turns;
    // Those looked at last in a hurry wait for an interval like everybody else.
    this.#startedAtMs = nowMs - (this.#mark.turns / TURNS) * this.#intervalMs;
  }

  get #isOver(): boolean {
    return this.#mark?.turns === TURNS;
  }

  /** Rounds follow each other without a pause; what is behind by more than a round is not made up for. */
  #nextStart(nowMs: number): number {
    return Math.max(this.#startedAtMs + this.#intervalMs, nowMs - this.#intervalMs);
  }
}
