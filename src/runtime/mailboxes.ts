/** What one stream's mailbox holds between tasks; null when it must be loaded. */
export interface Box<Value> {
  value: Value | null;
}

interface Entry<Value> extends Box<Value> {
  /** The last task of those that run or wait. */
  tail: Promise<unknown> | null;
  waiting: number;
}

/** Runs tasks of one key one after another, and keeps the values of the most recently used keys. */
export class Mailboxes<Value> {
  readonly #capacity: number;
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Runs the task when all earlier ones of the key have settled. A value that a task leaves is kept; null is forgotten at once. */
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
    const entry = this.#entries.get(key);
    return entry && entry.waiting === 0 ? entry.value : null;
  }

  #touch(key: string): Entry<Value> {
    const known = this.#entries.get(key);
    if (known) this.#entries.delete(key);
    const entry = known ?? { value: null, tail: null, waiting: 0 };
    this.#entries.set(key, entry);
    return entry;
  }

  #leave(key: string, entry: Entry<Value>): void {
    entry.waiting--;
    if (entry.waiting > 0) return;
    // Kept entries are many: nobody waits for this answer any more, so it need not be kept with them.
    entry.tail = null;
    if (entry.value === null) this.#entries.delete(key);
    else this.#evict();
  }

  #evict(): void {
    if (this.#entries.size <= this.#capacity) return;
    for (const [key, entry] of this.#entries) {
      if (entry.waiting === 0) this.#entries.delete(key);
      if (this.#entries.size <= this.#capacity) return;
    }
  }
}
