import type { RecordedEvent } from '../../ports/event-store.ts';

const MAX_EVENTS = 8_192;
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** The end of the log in memory, so that live subscribers need no database. Bounded by count and by size of the texts. */
export class RecentEvents {
  /** Position of the last event that was dropped, or that was there before the store opened. */
  #before: number;
  #events: RecordedEvent[] = [];
  #characters = 0;

  constructor(before: number) {
    this.#before = before;
  }

  /** The events must follow what was pushed last without a gap. */
  push(events: readonly RecordedEvent[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#characters += sizeOf(event);
    }
    if (this.#events.length > MAX_EVENTS || this.#characters > MAX_CHARACTERS) this.#drop();
  }

  /** At most `limit` events after the position; null when they are no longer all here. */
  after(position: number, limit: number): RecordedEvent[] | null {
    const start = position - this.#before;
    return start < 0 ? null : this.#events.slice(start, start + limit);
  }

  /** Half at once, so that the cost of moving the rest is spread. */
  #drop(): void {
    let dropped = 0;
    while (this.#events.length - dropped > MAX_EVENTS / 2 || (this.#characters > MAX_CHARACTERS / 2 && dropped < this.#events.length)) {
      this.#characters -= sizeOf(this.#events[dropped]!);
      dropped += 1;
    }
    this.#before += dropped;
    this.#events = this.#events.slice(dropped);
  }
}

const sizeOf = ({ data, metadata }: RecordedEvent): number => data.length + metadata.length + 256;
