import { RecentMap } from '../runtime/util/recent-map.ts';

const WINDOW_MS = 60_000;
const FREE = 5;
/** The number of distinct lines remembered in an outage; beyond it the oldest start over. */
const MAX_KEYS = 1_000;
/** Fields that differ each time although the line reports the same thing. */
const CHANGING: ReadonlySet<string> = new Set(['err', 'error', 'attempt', 'consecutiveFailures', 'sinceMs']);

interface Seen {
  sinceMs: number;
  written: number;
  withheld: number;
}

/**
 * Bounds the log output of an outage: a repeated line is written five times a minute, then once with the number of
 * omitted repetitions.
 */
export class RepeatedLines {
  readonly #seen = new RecentMap<string, Seen>(MAX_KEYS);
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Null when it is omitted; otherwise how many of its kind were omitted since the last one. */
  take(message: string, facts: unknown): number | null {
    const key = keyOf(message, facts);
    if (key === null) return 0;
    const nowMs = this.#nowMs();
    const seen = this.#seen.get(key);
    if (seen && nowMs - seen.sinceMs < WINDOW_MS) {
      if (seen.written >= FREE) {
        seen.withheld += 1;
        return null;
      }
      seen.written += 1;
      return 0;
    }
    // A continuing problem is logged once a minute; one that starts again after a pause gets its five lines again.
    const goesOn = seen !== undefined && seen.withheld > 0;
    this.#seen.set(key, { sinceMs: nowMs, written: goesOn ? FREE : 1, withheld: 0 });
    return seen?.withheld ?? 0;
  }
}

/** Null for values that cannot be serialised: those are left to the logger. */
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
