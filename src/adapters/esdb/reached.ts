import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import { sleep } from './faults.ts';
import { isAfter, later, type LogPosition } from './position.ts';
import type { EsdbReader } from './reader.ts';

const PAGE = 256;
const FIRST_LOOK_MS = 20;
const LONGEST_LOOK_MS = 1_000;

interface Waiter {
  readonly target: LogPosition;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Callers that wait until a subscription has passed a position. A filtered subscription never hears of other streams'
 * events, so the log in between is read while somebody waits: if it holds nothing wanted, the position is reached.
 */
export class ReachedWaiters {
  readonly #reader: EsdbReader;
  readonly #prefixes: readonly string[] | undefined;
  readonly #handledSoFar: () => LogPosition | null;
  readonly #waiters = new Set<Waiter>();
  /** No wanted event lies between the last handled one and this position. */
  #clearedTo: LogPosition | null = null;
  #looking = false;
  #closed = false;

  constructor(reader: EsdbReader, prefixes: readonly string[] | undefined, handledSoFar: () => LogPosition | null) {
    this.#reader = reader;
    this.#prefixes = prefixes;
    this.#handledSoFar = handledSoFar;
  }

  wait(target: LogPosition): Promise<void> {
    if (this.#isReached(target)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.add({ target, resolve, reject });
      if (this.#prefixes) void this.#look();
    });
  }

  handled(position: LogPosition): void {
    for (const waiter of this.#waiters) if (!isAfter(waiter.target, position)) this.#settle(waiter);
  }

  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) waiter.reject(new StoreUnavailable('the subscription was closed'));
    this.#waiters.clear();
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    for (
      let pauseMs = FIRST_LOOK_MS;
      this.#waiters.size > 0 && !this.#closed;
      pauseMs = Math.min(LONGEST_LOOK_MS, pauseMs * 2)
    ) {
      await sleep(pauseMs);
      // An unavailable store is asked again.
      await this.#readAhead().catch(() => {});
    }
    this.#looking = false;
  }

  async #readAhead(): Promise<void> {
    for (;;) {
      const handled = this.#handledSoFar();
      const from = later(handled, this.#clearedTo);
      const page = await this.#reader.page(from, PAGE, this.#prefixes);
      const next = page.events[0];
      if (next) return this.#clearedBefore(next.position ?? null);
      this.#clearedTo = page.last;
      if (page.last) this.handled(page.last);
      if (page.complete || this.#waiters.size === 0 || this.#closed) return;
    }
  }

  /** A wanted event is ahead: everything before it is reached; the rest waits for its handler. */
  #clearedBefore(next: LogPosition | null): void {
    if (!next) return;
    for (const waiter of this.#waiters) if (isAfter(next, waiter.target)) this.#settle(waiter);
  }

  #isReached(target: LogPosition): boolean {
    const reached = later(this.#handledSoFar(), this.#clearedTo);
    return reached !== null && !isAfter(target, reached);
  }

  #settle(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    waiter.resolve();
  }
}
