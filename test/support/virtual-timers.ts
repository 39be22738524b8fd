import type { Timers } from '../../src/ports/timers.ts';

interface Alarm {
  readonly dueAtMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until the test moves it; whole days pass in moments. */
export class VirtualTimers implements Timers {
  #nowMs: number;
  #alarms: Alarm[] = [];
  #count = 0;

  constructor() {
    this.#nowMs = Date.parse('2026-11-20T00:00:00Z');
  }

  nowMs(): number {
    return this.#nowMs;
  }

  at(dueAtMs: number, run: () => void): () => void {
    const alarm = { dueAtMs, order: this.#count++, run };
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((other) => other !== alarm);
    };
  }

  /** Lets time pass, waking every alarm at its own moment; `isQuiet` says when the work that one set off is over. */
  async pass(ms: number, isQuiet: () => boolean): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settle(isQuiet);
    for (let next = this.#next(endMs); next; next = this.#next(endMs)) {
      this.#alarms = this.#alarms.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.dueAtMs);
      next.run();
      await settle(isQuiet);
    }
    this.#nowMs = endMs;
  }

  #next(endMs: number): Alarm | undefined {
    return this.#alarms
      .filter((alarm) => alarm.dueAtMs <= endMs)
      .sort((one, other) => one.dueAtMs - other.dueAtMs || one.order - other.order)[0];
  }
}

/** Real input and output goes on underneath: quiet is quiet only when it lasts. */
async function settle(isQuiet: () => boolean): Promise<void> {
  for (let quiet = 0, turns = 0; quiet < 3; turns++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    quiet = isQuiet() ? quiet + 1 : 0;
    if (turns > 20_000) throw new Error('the work under way does not end');
  }
}
