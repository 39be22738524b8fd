import type { EventStore, Position } from '../ports/event-store.ts';
import type { Projection } from '../ports/projection.ts';
import { storeWith } from '../ports/store-with.ts';
import type { SharedLog } from './storage-parts.ts';

/** What this process wrote last that its look-ups will show. */
export class OwnWrites {
  readonly #prefixes: readonly string[];
  readonly #isAfter: SharedLog['isAfter'];
  #last: Position | null = null;

  constructor(projections: readonly Projection[], isAfter: SharedLog['isAfter']) {
    this.#prefixes = [...new Set(projections.flatMap((projection) => projection.streamPrefixes))];
    this.#isAfter = isAfter;
  }

  /** Null while nothing was written. */
  get last(): Position | null {
    return this.#last;
  }

  /** The store, with an eye on what this process appends. */
  observe(store: EventStore): EventStore {
    return storeWith(store, {
      append: async (request) => {
        const result = await store.append(request);
        if (result.ok && this.#prefixes.some((prefix) => request.stream.startsWith(prefix))) this.#wrote(result.position);
        return result;
      },
    });
  }

  #wrote(position: Position): void {
    if (this.#last === null || this.#isAfter(position, this.#last)) this.#last = position;
  }
}
