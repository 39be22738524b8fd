import { prevOf } from '../../domain/events/envelope.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import { RecentMap } from '../util/recent-map.ts';

/** Minimum number of streams whose newest event is remembered. */
const REMEMBERED = 50_000;

/** Verifies, while the whole log is read in order, that each event names its predecessor in the stream. */
export class StreamEnds {
  readonly #store: Pick<EventStore, 'readStream'>;
  readonly #ends = new RecentMap<string, { readonly revision: number; readonly hash: string }>(REMEMBERED);

  constructor(store: Pick<EventStore, 'readStream'>) {
    this.#store = store;
  }

  /**
   * What is wrong with the event's place, or null. `mustKnow`: reads the predecessor if it is not remembered. Without
   * it, long-silent streams go unchecked, which suffices where a signed root covers them.
   */
  async fault(event: RecordedEvent, mustKnow: boolean): Promise<string | null> {
    const { stream, revision } = event;
    const before =
      this.#ends.get(stream) ??
      (mustKnow && revision > 0
        ? (await this.#store.readStream(stream, { from: revision - 1, limit: 1 }))[0]
        : undefined);
    if (before && before.revision !== revision - 1)
      return `its stream goes on at revision ${before.revision + 1}: events are missing or out of order`;
    if (!before && revision > 0) return mustKnow ? 'the event before it in its stream is missing' : null;
    return prevOf(event.metadata) === (before?.hash ?? '')
      ? null
      : 'it does not contain the hash of the previous event in its stream';
  }

  /** Remembers the event as the newest of its stream. */
  take({ stream, revision, hash }: RecordedEvent): void {
    this.#ends.set(stream, { revision, hash });
  }
}
