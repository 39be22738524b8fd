import type { SweepMark } from '../../../domain/events/operations-events.ts';
import { TURNS } from '../../../domain/sweep-turns.ts';
import { must } from '../../../domain/values/must.ts';

/**
 * Repeated rounds over the ended sessions of a tier, each within its interval. Progress is durable, so a restart does
 * not begin the round again, and no session waits longer than one interval of running time.
 */
export class SolanaSweep {
  readonly #intervalMs: number;
  #mark: SweepMark | null = null;
  #startedAtMs = 0;
  #hurried: number;

  /** `atOnce`: read every owner without delay after a start, because money may have come in the meantime. */
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
   * Continues from the mark of an earlier run. `timeSec`: chain time from which balances will be read; `ageMs`: how
   * long ago the unfinished round began.
   */
  begin(left: SweepMark | null, timeSec: number, ageMs: number, nowMs: number): void {
    this.#mark = left ?? { startedSec: timeSec, previousSec: null, turns: 0 };
    this.#startedAtMs = left === null ? nowMs : nowMs - Math.max(0, ageMs);
  }

  /** Number of turns due. */
  due(nowMs: number): number {
    if (this.#hurried > 0) return Math.min(this.#hurried, TURNS - this.position);
    const startedAtMs = this.#isOver ? this.#nextStart(nowMs) : this.#startedAtMs;
    const share = Math.floor(((nowMs - startedAtMs) / this.#intervalMs) * TURNS);
    return Math.max(0, Math.min(TURNS, share) - this.position);
  }

  /** Marks this many turns as read, in balances of this chain time or later. */
  done(turns: number, timeSec: number, nowMs: number): void {
    if (this.#isOver) {
      this.#startedAtMs = this.#nextStart(nowMs);
      this.#mark = { startedSec: timeSec, previousSec: must(this.#mark).startedSec, turns: 0 };
    }
    this.#mark = { ...must(this.#mark), turns: must(this.#mark).turns + turns };
    if (this.#hurried === 0) return;
    this.#hurried -= turns;
    // Owners read in a hurry wait for a full interval like everyone else.
    this.#startedAtMs = nowMs - (this.#mark.turns / TURNS) * this.#intervalMs;
  }

  get #isOver(): boolean {
    return this.#mark?.turns === TURNS;
  }

  /** Rounds follow each other without a pause. A lag of more than one round is not made up. */
  #nextStart(nowMs: number): number {
    return Math.max(this.#startedAtMs + this.#intervalMs, nowMs - this.#intervalMs);
  }
}
