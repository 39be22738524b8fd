/** What one stream's mailbox holds between tasks; null when it must be loaded. */
export interface Box<Value> {
  value: Value | null;
}

interface Entry<Value> extends Box<Value> {
  /** The last task of those that run or wait. */
  tail: Promise<unknown> | null;
  waiting: number;
}

/**
 * Runs tasks of one key one after another, and keeps the values of the keys used last: two generations, of which the
 * older is dropped whole.
 */
export class Mailboxes<Value> {
  readonly #generation: number;
  /** Size at which the young generation becomes the old one. */
  #full: number;
  #young = new Map<string, Entry<Value>>();
  #old = new Map<string, Entry<Value>>();

  /** Keeps at most `capacity` values, and at least half as many. */
  constructor(capacity: number) {
    this.#generation = Math.max(1, Math.floor(capacity / 2));
    this.#full = this.#generation;
  }

  /**
   * Runs the task when all earlier ones of the key have settled. A value that a task leaves is kept; null is forgotten
   * at once.
   */
  run<Result>(key: string, task: (box: Box<Value>) => Promise<Result>): Promise<Result> {
    const entry = this.#touch(key);
    const previous = entry.tail;
    entry.waiting++;
    const next = (): Promise<Result> => task(entry);
    // Whether the one before succeeded is between it and its own caller.
    const result = previous === null ? next() : previous.then(next, next);
    entry.tail = result;
    const leave = (): void => this.#leave(key, entry);
    result.then(leave, leave);
    return result;
  }

  /** The value kept for the key while no task of it runs; null otherwise. */
  peek(key: string): Value | null {
    const entry = this.#young.get(key) ?? this.#old.get(key);
    return entry && entry.waiting === 0 ? entry.value : null;
  }

  #touch(key: string): Entry<Value> {
    const young = this.#young.get(key);
    if (young) return young;
    const old = this.#old.get(key);
    if (old) this.#old.delete(key);
    const entry = old ?? { value: null, tail: null, waiting: 0 };
    if (this.#young.size >= this.#full) this.#turn();
    this.#young.set(key, entry);
    return entry;
  }

  #turn(): void {
    const dropped = this.#old;
    this.#old = this.#young;
    this.#young = new Map();
    // What runs or waits would otherwise run beside the next task of its key.
    for (const [key, entry] of dropped) if (entry.waiting > 0) this.#young.set(key, entry);
    // However many that are: the next turn is worth its look at all of them.
    this.#full = Math.max(this.#generation, 2 * this.#young.size);
  }

  #leave(key: string, entry: Entry<Value>): void {
    entry.waiting--;
    if (entry.waiting > 0) return;
    // Kept entries are many: nobody waits for this answer any more, so it need not be kept with them.
    entry.tail = null;
    if (entry.value === null && !this.#young.delete(key)) this.#old.delete(key);
  }
}
