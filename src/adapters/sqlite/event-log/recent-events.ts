import type { RecordedEvent } from '../../../ports/event-log/event-store.ts';
import { must } from '../../../domain/values/must.ts';

const MAX_EVENTS = 8_192;
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * The end of the log in memory for as long as subscribers need it, so that live ones need no database. Limited by
 * number and text size; a subscriber that falls further behind reads from the file.
 */
export class RecentEvents {
  /** Position of the last event that was dropped, or that existed before the store opened. */
  #before: number;
  #events: RecordedEvent[] = [];
  #characters = 0;

  constructor(before: number) {
    this.#before = before;
  }

  /** The events must follow the last ones without a gap. */
  push(events: readonly RecordedEvent[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#characters += sizeOf(event);
    }
    if (this.#events.length > MAX_EVENTS || this.#characters > MAX_CHARACTERS) this.#halve();
  }

  /** Behaves as if the events up to here, none of which is held, had been pushed and dropped. */
  skipTo(position: number): void {
    this.#drop(this.#events.length);
    this.#before = position;
  }

  /** At most `limit` events after the position; null if some are missing here. */
  after(position: number, limit: number): RecordedEvent[] | null {
    const start = position - this.#before;
    return start < 0 ? null : this.#events.slice(start, start + limit);
  }

  /** Whether everything after the position is here. */
  reachesBackTo(position: number): boolean {
    return position >= this.#before;
  }

  /** Drops events that nobody needs any more. Short-lived objects cost the garbage collector nothing. */
  forget(through: number): void {
    const count = Math.min(through - this.#before, this.#events.length);
    // Moving a long rest to drop a few events would cost more than it frees.
    if (count * 2 >= this.#events.length) this.#drop(count);
  }

  /** Drops half at once, to spread the cost of moving the rest. */
  #halve(): void {
    let count = 0;
    let characters = this.#characters;
    while (
      this.#events.length - count > MAX_EVENTS / 2 ||
      (characters > MAX_CHARACTERS / 2 && count < this.#events.length)
    ) {
      characters -= sizeOf(must(this.#events[count]));
      count += 1;
    }
    this.#drop(count);
  }

  #drop(count: number): void {
    if (count <= 0) return;
    for (let index = 0; index < count; index += 1) this.#characters -= sizeOf(must(this.#events[index]));
    this.#before += count;
    this.#events = this.#events.slice(count);
  }
}

const sizeOf = ({ data, metadata }: RecordedEvent): number => data.length + metadata.length + 256;
