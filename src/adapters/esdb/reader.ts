import {
  BACKWARDS,
  END,
  ErrorType,
  FORWARDS,
  START,
  type AllStreamRecordedEvent,
  type EventStoreDBClient,
  type RecordedEvent as ClientEvent,
  type StreamingRead,
} from '@eventstore/db-client';
import type { Position, ReadAllOptions, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { EsdbConnection } from './connection.ts';
import { fromClientEvent } from './event-format.ts';
import { isFault } from './faults.ts';
import { isAfter, isSet, type LogPosition, parsePosition, positionText } from './position.ts';
import type { StreamNames } from './stream-names.ts';
import { must } from '../../domain/values/must.ts';

/** Events per request. */
const PAGE = 512;
const HEAD_PAGE = 16;

type Resolved = { readonly event?: ClientEvent | AllStreamRecordedEvent };

/** One page of `$all`: our events in it, and where the next page begins. */
interface Page {
  readonly events: readonly ClientEvent[];
  readonly last: LogPosition | null;
  readonly complete: boolean;
}

/**
 * Reads in pages, always from the leader, so that everyone sees what others have seen. A slow page is awaited as long
 * as data arrives: starting over would not be faster on a loaded server.
 */
export class EsdbReader {
  readonly #connection: EsdbConnection;
  readonly #names: StreamNames;
  /** How far the last look at the head went, and what it found: what others wrote before is not read again. */
  #looked: { readonly upTo: LogPosition; readonly newest: LogPosition | null } | null = null;

  constructor(connection: EsdbConnection, names: StreamNames) {
    this.#connection = connection;
    this.#names = names;
  }

  async stream(stream: string, from: number, limit: number): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    while (events.length < limit) {
      const maxCount = Math.min(PAGE, limit - events.length);
      const fromRevision = BigInt(from + events.length);
      const page = await this.#run(`reading stream ${stream}`, async (client) =>
        this.#ofStream(
          client.readStream(this.#names.onServer(stream), {
            direction: FORWARDS,
            fromRevision,
            maxCount,
            requiresLeader: true,
          }),
        ),
      );
      events.push(...page.map(({ event }) => fromClientEvent(must(event), this.#names)));
      if (page.length < maxCount) break;
    }
    return events;
  }

  /** Null if the event cannot be read (yet), or never: a deleted stream hides its old revisions. */
  async positionAt(stream: string, revision: number): Promise<Position | null> {
    const fromRevision = BigInt(revision);
    const [found] = await this.#run(`reading stream ${stream}`, async (client) =>
      this.#ofStream(
        client.readStream(this.#names.onServer(stream), {
          ...{ direction: FORWARDS, fromRevision, maxCount: 1, requiresLeader: true },
        }),
      ),
    );
    return found?.event && isSet(found.event.position) ? positionText(found.event.position) : null;
  }

  async last(stream: string): Promise<RecordedEvent | null> {
    const [last] = await this.#run(`reading the end of stream ${stream}`, async (client) =>
      this.#ofStream(
        client.readStream(this.#names.onServer(stream), {
          direction: BACKWARDS,
          fromRevision: END,
          maxCount: 1,
          requiresLeader: true,
        }),
      ),
    );
    return last?.event ? fromClientEvent(last.event, this.#names) : null;
  }

  async all({ after, limit, streamPrefixes }: ReadAllOptions): Promise<RecordedEvent[]> {
    const found: RecordedEvent[] = [];
    let from = after === null ? null : parsePosition(after);
    let count = Math.min(PAGE, limit);
    while (found.length < limit) {
      const page = await this.page(from, count, streamPrefixes);
      found.push(...page.events.slice(0, limit - found.length).map((event) => fromClientEvent(event, this.#names)));
      if (page.complete) break;
      from = page.last;
      // With foreign events in between, requesting only the missing few would cost a call for each of them.
      count = PAGE;
    }
    return found;
  }

  /**
   * The next events after a position, at most `count` of the whole log, filtered by prefix (this driver's reads cannot
   * filter).
   */
  async page(after: LogPosition | null, count: number, streamPrefixes?: readonly string[]): Promise<Page> {
    // Reads include the event at the start position.
    const maxCount = after ? count + 1 : count;
    const read = await this.#run('reading the log', async (client) =>
      this.#connection.collect<Resolved>(
        client.readAll({ direction: FORWARDS, fromPosition: after ?? START, maxCount, requiresLeader: true }),
      ),
    );
    const events = read.flatMap(({ event }) => (event && !(after && isAt(event, after)) ? [event] : []));
    const isWanted = this.#names.matcher(streamPrefixes);
    const last = events.at(-1)?.position;
    return {
      events: events.filter(({ streamId }) => isWanted(streamId)),
      last: isSet(last) ? last : after,
      complete: read.length < maxCount,
    };
  }

  async head(): Promise<Position | null> {
    const isOurs = this.#names.matcher(undefined);
    const before = this.#looked;
    let upTo: LogPosition | null = null;
    let fromPosition: LogPosition | typeof END = END;
    let maxCount = HEAD_PAGE;
    for (;;) {
      const at: LogPosition | typeof END = fromPosition;
      const count = maxCount;
      const read: Resolved[] = await this.#run('reading the head of the log', async (client: EventStoreDBClient) =>
        this.#connection.collect<Resolved>(
          client.readAll({ direction: BACKWARDS, fromPosition: at, maxCount: count, requiresLeader: true }),
        ),
      );
      const last = read[0]?.event?.position;
      if (isSet(last)) upTo ??= last;
      const newest = read.find(({ event }) => event && isOurs(event.streamId))?.event?.position;
      if (isSet(newest)) return this.#found(upTo, newest);
      const oldest = read.at(-1)?.event?.position;
      if (read.length < count || !isSet(oldest)) return this.#found(upTo, null);
      if (before && !isAfter(oldest, before.upTo)) return this.#found(upTo, before.newest);
      fromPosition = oldest;
      maxCount = PAGE;
    }
  }

  #found(upTo: LogPosition | null, newest: LogPosition | null): Position | null {
    if (upTo) this.#looked = { upTo, newest };
    return newest && positionText(newest);
  }

  #run<Value>(what: string, task: (client: EventStoreDBClient) => Promise<Value>): Promise<Value> {
    return this.#connection.run(what, task, { endsItself: true });
  }

  async #ofStream(read: StreamingRead<Resolved>): Promise<Resolved[]> {
    try {
      return await this.#connection.collect<Resolved>(read);
    } catch (error) {
      if (isFault(error, ErrorType.STREAM_NOT_FOUND)) return [];
      throw error;
    }
  }
}

const isAt = ({ position }: { readonly position?: LogPosition }, other: LogPosition): boolean =>
  position?.commit === other.commit && position.prepare === other.prepare;
