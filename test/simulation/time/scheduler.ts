import { AsyncLocalStorage } from 'node:async_hooks';

const drain = setImmediate;

/** A process of the modelled installation: what it set going stops with it, at whatever await it stands. */
export class ModelProcess {
  readonly name: string;
  isDead = false;
  /** How far its wall clock is off. */
  skewMs = 0;
  /** It stands still until then, and goes on where it was. */
  resumesMs = -Infinity;
  /** What follows the log within it gets no further. */
  isBehind = false;

  constructor(name: string) {
    this.name = name;
  }
}

const processes = new AsyncLocalStorage<ModelProcess | null>();

/** Null outside of every process: the world itself. */
export const currentProcess = (): ModelProcess | null => processes.getStore() ?? null;
export const within = <Value>(process: ModelProcess | null, run: () => Value): Value => processes.run(process, run);

interface Task {
  dueMs: number;
  readonly order: number;
  readonly owner: ModelProcess | null;
  run: (() => void) | null;
}

/**
 * The only clock there is: nothing happens but by a task of this queue, one after the other, in the order of their
 * times.
 */
export class Scheduler {
  #nowMs: number;
  #order = 0;
  #steps = 0;
  readonly #heap: Task[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Tasks done so far. */
  get steps(): number {
    return this.#steps;
  }

  /** The returned function calls it off. A task of a process that has ended is not run. */
  after(delayMs: number, owner: ModelProcess | null, run: () => void): () => void {
    const task: Task = { dueMs: this.#nowMs + Math.max(0, delayMs), order: (this.#order += 1), owner, run };
    this.#push(task);
    return () => (task.run = null);
  }

  at(dueMs: number, owner: ModelProcess | null, run: () => void): () => void {
    return this.after(dueMs - this.#nowMs, owner, run);
  }

  /** Lets time pass until `endMs`, or until `isOver` says so. */
  async run(endMs: number, isOver: () => boolean): Promise<void> {
    // What was begun before the first task must have got as far as it can.
    await this.#settle();
    while (!isOver()) {
      const next = this.#heap[0];
      if (!next || next.dueMs > endMs) break;
      this.#pop();
      if (next.run === null || next.owner?.isDead) continue;
      if (next.owner && next.owner.resumesMs > next.dueMs) {
        next.dueMs = next.owner.resumesMs;
        this.#push(next);
        continue;
      }
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      this.#steps += 1;
      within(next.owner, next.run);
      await this.#settle();
    }
    if (!isOver()) this.#nowMs = Math.max(this.#nowMs, endMs);
  }

  /** All that follows from a task without time passing is done: promises run out before the real event loop turns. */
  #settle(): Promise<void> {
    return new Promise((resolve) => drain(() => resolve()));
  }

  #push(task: Task): void {
    const heap = this.#heap;
    heap.push(task);
    for (let at = heap.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent]!, heap[at]!)) break;
      [heap[parent], heap[at]] = [heap[at]!, heap[parent]!];
      at = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let first = at;
      if (left < heap.length && isBefore(heap[left]!, heap[first]!)) first = left;
      if (right < heap.length && isBefore(heap[right]!, heap[first]!)) first = right;
      if (first === at) return;
      [heap[first], heap[at]] = [heap[at]!, heap[first]!];
      at = first;
    }
  }
}

const isBefore = (one: Task, other: Task): boolean =>
  one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
