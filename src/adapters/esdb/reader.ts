import type { Position, ReadAllOptions, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { ReadRequest, ServerEvent } from './client/messages.ts';
import type { EsdbConnection } from './connection.ts';
import { fromServerEvent } from './event-format.ts';
import { isAfter, isSet, type LogPosition, parsePosition, positionText } from './position.ts';
import type { StreamNames } from './stream-names.ts';

/** Events per request. */
const PAGE = 512;
/** Of a reader that wants many. */
const LONGEST_PAGE = 2_048;
const HEAD_PAGE = 16;

/** One page of `$all`: our events in it, and where the next page begins. */
interface Page {
  readonly events: readonly ServerEvent[];
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
      const count = Math.min(PAGE, limit - events.length);
      const page = await this.#read(`reading stream ${stream}`, {
        ...{ stream: this.#names.onServer(stream), from: BigInt(from + events.length), count },
      });
      events.push(...page.map((event) => fromServerEvent(event, this.#names)));
      if (page.length < count) break;
    }
    return events;
  }

  /** Null if the event cannot be read (yet), or never: a deleted stream hides its old revisions. */
  async positionAt(stream: string, revision: number): Promise<Position | null> {
    const [found] = await this.#read(`reading stream ${stream}`, {
      ...{ stream: this.#names.onServer(stream), from: BigInt(revision), count: 1 },
    });
    return found && isSet(found.position) ? positionText(found.position) : null;
  }

  async last(stream: string): Promise<RecordedEvent | null> {
    const [last] = await this.#read(`reading the end of stream ${stream}`, {
      ...{ stream: this.#names.onServer(stream), from: 'end', backwards: true, count: 1 },
    });
    return last ? fromServerEvent(last, this.#names) : null;
  }

  async all({ after, limit, streamPrefixes }: ReadAllOptions): Promise<RecordedEvent[]> {
    const found: RecordedEvent[] = [];
    let from = after === null ? null : parsePosition(after);
    let count = Math.min(LONGEST_PAGE, limit);
    while (found.length < limit) {
      const page = await this.page(from, count, streamPrefixes);
      found.push(...page.events.slice(0, limit - found.length).map((event) => fromServerEvent(event, this.#names)));
      if (page.complete) break;
      from = page.last;
      // With foreign events in between, requesting only the missing few would cost a call for each of them.
      count = Math.max(count, PAGE);
    }
    return found;
  }

  /**
   * The next events after a position, at most `count` of the whole log, filtered by prefix here: a filtered read says
   * nothing about how far it went.
   */
  async page(after: LogPosition | null, count: number, streamPrefixes?: readonly string[]): Promise<Page> {
    // Reads include the event at the start position.
    const maxCount = after ? count + 1 : count;
    const read = await this.#read('reading the log', { from: after ?? 'start', count: maxCount });
    const events = read.filter(({ position }) => !(after && isSame(position, after)));
    const isWanted = this.#names.matcher(streamPrefixes);
    const last = events.at(-1)?.position;
    return {
      events: events.filter(({ stream }) => isWanted(stream)),
      last: isSet(last) ? last : after,
      complete: read.length < maxCount,
    };
  }

  async head(): Promise<Position | null> {
    const isOurs = this.#names.matcher(undefined);
    const before = this.#looked;
    let upTo: LogPosition | null = null;
    let from: LogPosition | 'end' = 'end';
    let count = HEAD_PAGE;
    for (;;) {
      const read: ServerEvent[] = await this.#read('reading the head of the log', { from, backwards: true, count });
      const last = read[0]?.position;
      if (isSet(last)) upTo ??= last;
      const newest = read.find(({ stream }) => isOurs(stream))?.position;
      if (isSet(newest)) return this.#found(upTo, newest);
      const oldest = read.at(-1)?.position;
      if (read.length < count || !isSet(oldest)) return this.#found(upTo, null);
      if (before && !isAfter(oldest, before.upTo)) return this.#found(upTo, before.newest);
      from = oldest;
      count = PAGE;
    }
  }

  #found(upTo: LogPosition | null, newest: LogPosition | null): Position | null {
    if (upTo) this.#looked = { upTo, newest };
    return newest && positionText(newest);
  }

  #read(what: string, request: ReadRequest): Promise<ServerEvent[]> {
    return this.#connection.run(what, (client) => this.#connection.collect(client, request), { endsItself: true });
  }
}

const isSame = (one: LogPosition, other: LogPosition): boolean =>
  one.commit === other.commit && one.prepare === other.prepare;
