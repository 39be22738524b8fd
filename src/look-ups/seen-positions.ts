import type { EventStore, Position, RecordedEvent } from '../ports/event-log/event-store.ts';
import type { Positions } from '../ports/event-log/positions.ts';
import type { ReadModel } from '../ports/read-model/read-model.ts';
import { storeWith } from '../ports/event-log/store-with.ts';
import type { RunningProjections } from '../runtime/projections/runner.ts';
import { projectionsNamed } from './projections.ts';
import { isLater } from './followed-log.ts';
import type { Follows } from './messages.ts';

export interface SeenPositionsDeps {
  readonly follows: Follows;
  readonly readModel: Pick<ReadModel, 'checkpoint'>;
  readonly projections: Pick<RunningProjections, 'caughtUpTo'>;
  readonly store: Pick<EventStore, 'head'>;
}

/** The end of the log as far as this process knows it, from its look-ups, its writes and its reads of streams. */
export class SeenPositions implements Positions {
  readonly #deps: SeenPositionsDeps;
  readonly #prefixes: readonly string[];
  #written: Position | null = null;
  #seen: Position | null = null;

  constructor(deps: SeenPositionsDeps) {
    this.#deps = deps;
    this.#prefixes = [
      ...new Set(projectionsNamed(deps.follows.projections).flatMap((projection) => projection.streamPrefixes)),
    ];
  }

  /** The last write of this process that its look-ups will include; null if there is none. */
  get written(): Position | null {
    return this.#written;
  }

  /** The store, wrapped to record what this process appends to and reads from streams that look-ups follow. */
  observe(store: EventStore): EventStore {
    return storeWith(store, {
      append: async (request) => {
        const result = await store.append(request);
        if (result.ok && this.#isShown(request.stream)) this.#written = this.#later(this.#written, result.position);
        return result;
      },
      readStream: async (stream, options) => {
        const events = await store.readStream(stream, options);
        this.#saw(events.at(-1));
        return events;
      },
      lastOfStream: async (stream) => {
        const event = await store.lastOfStream(stream);
        this.#saw(event ?? undefined);
        return event;
      },
    });
  }

  async reported(): Promise<string | null> {
    let last = this.#written === null ? this.#seen : this.#later(this.#seen, this.#written);
    for (const id of this.#deps.follows.projections) {
      const shown = await this.#deps.readModel.checkpoint(id);
      if (shown !== null) last = this.#later(last, shown);
    }
    return last;
  }

  async shownUpTo(given: string): Promise<'shown' | 'behind' | 'malformed'> {
    const { follows, readModel, projections, store } = this.#deps;
    if (!this.#isPosition(given)) return 'malformed';
    const shown = await Promise.all(follows.projections.map((id) => readModel.checkpoint(id)));
    if (shown.every((position) => position !== null && !isLater(follows.log, given, position))) return 'shown';
    const head = await store.head();
    // The log was replaced by an older copy, so nobody can reach the position any more.
    if (head === null || isLater(follows.log, given, head)) return 'shown';
    return (await projections.caughtUpTo(given)) ? 'shown' : 'behind';
  }

  #saw(event: RecordedEvent | undefined): void {
    if (event && this.#isShown(event.stream)) this.#seen = this.#later(this.#seen, event.position);
  }

  #isShown(stream: string): boolean {
    return this.#prefixes.some((prefix) => stream.startsWith(prefix));
  }

  #later(one: Position | null, other: Position): Position {
    return one === null || isLater(this.#deps.follows.log, other, one) ? other : one;
  }

  #isPosition(given: string): boolean {
    try {
      isLater(this.#deps.follows.log, given, given);
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }
}
