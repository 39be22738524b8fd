/** The value in one stream's mailbox between tasks; null if it must be loaded. */
export interface Box<Value> {
  value: Value | null;
}

interface Entry<Value> extends Box<Value> {
  /** The last running or waiting task. */
  tail: Promise<unknown> | null;
  waiting: number;
}

/**
 * Runs tasks of one key sequentially and keeps the most recently used values in two generations, of which the older is
 * dropped whole.
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
   * Runs the task once all earlier ones of the key have settled. Keeps the value that a task leaves; drops null at
   * once.
   */
  run<Result>(key: string, task: (box: Box<Value>) => Promise<Result>): Promise<Result> {
    const entry = this.#touch(key);
    const previous = entry.tail;
    entry.waiting++;
    const next = (): Promise<Result> => task(entry);
    // Only the previous task's own caller cares whether it succeeded.
    const result = previous === null ? next() : previous.then(next, next);
    entry.tail = result;
    const leave = (): void => this.#leave(key, entry);
    result.then(leave, leave);
    return result;
  }

  /** The value of the key if no task is running; otherwise null. */
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
    // Running and waiting tasks must stay, or the next task of their key would run concurrently.
    for (const [key, entry] of dropped) if (entry.waiting > 0) this.#young.set(key, entry);
    // The threshold grows with them, so that the next pass over all of them pays off.
    this.#full = Math.max(this.#generation, 2 * this.#young.size);
  }

  #leave(key: string, entry: Entry<Value>): void {
    entry.waiting--;
    if (entry.waiting > 0) return;
    // There are many kept entries, and nobody waits for this result any more.
    entry.tail = null;
    if (entry.value === null && !this.#young.delete(key)) this.#old.delete(key);
  }
}
