import { RecentMap } from '../runtime/util/recent-map.ts';

const WINDOW_MS = 60_000;
const FREE = 5;
/** What an outage may name, at least; beyond it the oldest begin anew. */
const MAX_KEYS = 1_000;
/** Facts that differ each time although the line says the same again. */
const CHANGING: ReadonlySet<string> = new Set(['err', 'error', 'attempt', 'consecutiveFailures', 'sinceMs']);

interface Seen {
  sinceMs: number;
  told: number;
  withheld: number;
}

/**
 * Bounds what an outage writes: a line that says the same of the same things is told five times a minute, then once
 * with how often it was left out.
 */
export class RepeatedLines {
  readonly #seen = new RecentMap<string, Seen>(MAX_KEYS);
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Null when it is left out; otherwise how many of its kind were since the last one. */
  take(message: string, facts: unknown): number | null {
    const key = keyOf(message, facts);
    if (key === null) return 0;
    const nowMs = this.#nowMs();
    const seen = this.#seen.get(key);
    if (seen && nowMs - seen.sinceMs < WINDOW_MS) {
      if (seen.told >= FREE) {
        seen.withheld += 1;
        return null;
      }
      seen.told += 1;
      return 0;
    }
    // Whatever goes on is told once a minute; what began anew after a pause has its five again.
    const goesOn = seen !== undefined && seen.withheld > 0;
    this.#seen.set(key, { sinceMs: nowMs, told: goesOn ? FREE : 1, withheld: 0 });
    return seen?.withheld ?? 0;
  }
}

/** Null for facts that cannot be recorded: those are left to the logger. */
function keyOf(message: string, facts: unknown): string | null {
  try {
    return `${message} ${JSON.stringify(facts, (name, value: unknown) => {
      if (CHANGING.has(name)) return undefined;
      return typeof value === 'bigint' ? String(value) : value;
    })}`;
  } catch {
    return null;
  }
}
