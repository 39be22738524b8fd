import { prevOf } from '../../../domain/events/envelope.ts';
import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalText } from '../../../domain/events/canonical-text.ts';
import { must } from '../../../domain/values/must.ts';
import type { ReadAllOptions, RecordedEvent } from '../../../ports/event-log/event-store.ts';
import type { Tail } from './append-job.ts';
import { arrayQuery, query, type Query } from '../database.ts';
import { CHAIN_GENESIS } from './event-schema.ts';
import type { UsedNonce } from '../nonces/nonces-file.ts';
import { parsePosition } from './position.ts';
import type { StreamName } from './stream-names-file.ts';

/** Positions examined per turn of the event loop. */
const READ_WINDOW = 1_024;

/** A page ends here even before its window does. */
const PAGE_CHARACTERS = 32 * 1024 * 1024;

export interface Predecessor {
  readonly hash: string;
}

/** The hash of an event by its place in its stream. */
export const PREDECESSOR = 'SELECT hash FROM events WHERE stream_number = ? AND revision = ?';

/** Number of rows turned into records before their size is counted. */
const PAGE_ROWS = 256;

const DATA_COLUMNS = 'stream, revision, position, id, type, version, at_ms, data';
const COLUMNS = `${DATA_COLUMNS}, metadata, hash`;

type DataRow = readonly [string, number, number, string, string, number, number, string];
type Rest = readonly [metadata: string, hash: string];
type Row = readonly [...DataRow, ...Rest];

const isWhole = (row: DataRow | Row): row is Row => row.length > 8;

/** A section of the log: the matching events, and the position up to which it was examined. */
export interface LogPage {
  readonly events: RecordedEvent[];
  readonly through: number;
}

export type TailCheck =
  | { readonly ok: true; readonly checked: number }
  /** The first event that differs from what was once stored there. */
  | { readonly ok: false; readonly position: number; readonly reason: string };

/** Port `EventStore.readAll`, up to the position `end`. */
export async function readAll(
  reader: EventReader,
  { after, limit, streamPrefixes }: ReadAllOptions,
  end: number,
): Promise<RecordedEvent[]> {
  const found: RecordedEvent[] = [];
  let through = parsePosition(after);
  while (found.length < limit && through < end) {
    if (through > parsePosition(after)) await nextTurn();
    const page = reader.page(
      through,
      streamPrefixes ? READ_WINDOW : Math.min(READ_WINDOW, limit - found.length),
      streamPrefixes,
      end,
    );
    found.push(...page.events.slice(0, limit - found.length));
    through = page.through;
  }
  return found;
}

/** Reads the log through one connection. Every method throws the driver's errors. */
export class EventReader {
  readonly #database: DatabaseSync;
  readonly #ofStream: Query<Row>;
  readonly #lastOfStream: Query<Row>;
  readonly #last: Query<Tail>;
  readonly #rest: Query<Rest>;
  readonly #streamAt: Query<[stream: string]>;
  readonly #isLazy: boolean;
  readonly #pages = new Map<number, Query<DataRow | Row>>();

  /** `lazily`: leaves metadata and hash, a quarter of the data, on disk until they are accessed. */
  constructor(database: DatabaseSync, { lazily = false } = {}) {
    this.#database = database;
    this.#isLazy = lazily;
    this.#rest = arrayQuery(database, 'SELECT metadata, hash FROM events WHERE position = ?');
    this.#streamAt = arrayQuery(database, 'SELECT stream FROM events WHERE position = ?');
    const ofStream = `SELECT ${COLUMNS} FROM events WHERE stream_number = ?`;
    this.#ofStream = arrayQuery(database, `${ofStream} AND revision >= ? ORDER BY revision LIMIT ?`);
    this.#lastOfStream = arrayQuery(database, `${ofStream} ORDER BY revision DESC LIMIT 1`);
    this.#last = query(database, 'SELECT position, chain FROM events ORDER BY position DESC LIMIT 1');
  }

  /** `limit` -1: all. */
  stream(number: number, from: number, limit: number): RecordedEvent[] {
    return this.#ofStream.all(number, from, limit).map(toEvent);
  }

  lastOfStream(number: number): RecordedEvent | null {
    const row = this.#lastOfStream.get(number);
    return row ? toEvent(row) : null;
  }

  /** Examines at most `window` positions and returns at most that many events. */
  page(after: number, window: number, prefixes: readonly string[] | undefined, head: number): LogPage {
    const through = Math.min(after + window, head);
    if (through <= after) return { events: [], through: after };
    const bounds = prefixes?.flatMap((prefix) => [prefix, `${prefix}\u{10ffff}`]) ?? [];
    const statement = this.#pageStatement(bounds.length / 2);
    const events: RecordedEvent[] = [];
    let characters = 0;
    for (let from = after; from < through; from += PAGE_ROWS) {
      const to = Math.min(from + PAGE_ROWS, through);
      for (const row of statement.all(from, to, ...bounds)) {
        events.push(isWhole(row) ? toEvent(row) : new LazyEvent(row, this.#rest));
        characters += row[7].length;
      }
      // Large windows are meant for many small events; memory would not hold as many large ones.
      if (characters > PAGE_CHARACTERS) return { events, through: to };
    }
    return { events, through };
  }

  tail(): Tail {
    const row = this.#last.get();
    return row ? { position: row.position, chain: row.chain } : { position: 0, chain: CHAIN_GENESIS };
  }

  /** The seals of commits, newest first. */
  seals(): Iterable<Tail & { readonly seal: Uint8Array }> {
    const sql = 'SELECT position, chain, seal FROM events WHERE seal IS NOT NULL ORDER BY position DESC';
    return query<Tail & { readonly seal: Uint8Array }>(this.#database, sql).iterate();
  }

  /** The streams that begin after the position. */
  streamsAfter(position: number): Iterable<StreamName> {
    const sql =
      'SELECT stream AS name, position AS number FROM events WHERE position > ? AND revision = 0 ORDER BY position';
    return query<StreamName>(this.#database, sql).iterate(position);
  }

  /** The number of a stream that begins after the position; null if there is none. Reads everything that follows. */
  streamNumberAfter(position: number, stream: string): number | null {
    const sql = 'SELECT position FROM events WHERE position > ? AND revision = 0 AND stream = ?';
    return query<{ position: number }>(this.#database, sql).get(position, stream)?.position ?? null;
  }

  /** The name of the event's stream; null if there is no event at the position. */
  streamAt(position: number): string | null {
    return this.#streamAt.get(position)?.[0] ?? null;
  }

  /** Nonces committed with commands that were not expired at the time. */
  commandNonces(nowSec: number): UsedNonce[] {
    const sql = 'SELECT digest, expires_at_sec AS expiresAtSec FROM command_nonces WHERE expires_at_sec >= ?';
    return query<UsedNonce>(this.#database, sql).all(nowSec);
  }

  /** Null if there is no event at the position. */
  chainAt(position: number): string | null {
    if (position === 0) return CHAIN_GENESIS;
    const sql = 'SELECT chain FROM events WHERE position = ?';
    return query<{ chain: string }>(this.#database, sql).get(position)?.chain ?? null;
  }

  /** Number of events after the newest one of a type. Examines at most `limit`, which is also the maximum. */
  sinceLast(type: string, limit: number): number {
    const { position: head } = this.tail();
    const sql = 'SELECT position FROM events WHERE position > ? AND type = ? ORDER BY position DESC LIMIT 1';
    const row = query<{ position: number }>(this.#database, sql).get(Math.max(head - limit, 0), type);
    return row ? head - row.position : Math.min(head, limit);
  }

  /** Verifies hash, chain, place in the stream and `prev` of the last `count` events. */
  verifyTail(count: number): TailCheck {
    const { position: head } = this.tail();
    const from = Math.max(head - count, 0);
    const before = this.chainAt(from);
    if (before === null) return { ok: false, position: from, reason: 'the event is missing' };
    const rows = query<FullRow>(this.#database, 'SELECT * FROM events WHERE position > ? ORDER BY position');
    const predecessor = query<Predecessor>(this.#database, PREDECESSOR);
    let expected = from;
    let chain = before;
    for (const row of rows.iterate(from)) {
      expected += 1;
      const reason = row.position === expected ? faultOfRow(row, chain, predecessor) : 'the event is missing';
      if (reason) return { ok: false, position: expected, reason };
      chain = row.chain;
    }
    return { ok: true, checked: expected - from };
  }

  #pageStatement(prefixes: number): Query<DataRow | Row> {
    let statement = this.#pages.get(prefixes);
    if (!statement) {
      const columns = this.#isLazy ? DATA_COLUMNS : COLUMNS;
      const filter =
        prefixes === 0
          ? ''
          : `AND (${Array.from({ length: prefixes }, () => '(stream >= ? AND stream < ?)').join(' OR ')})`;
      statement = arrayQuery(
        this.#database,
        `SELECT ${columns} FROM events WHERE position > ? AND position <= ? ${filter} ORDER BY position`,
      );
      this.#pages.set(prefixes, statement);
    }
    return statement;
  }
}

/** A complete row of the log. */
export interface FullRow {
  readonly position: number;
  readonly stream_number: number;
  readonly revision: number;
  readonly stream: string;
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly at_ms: number;
  readonly data: string;
  readonly metadata: string;
  readonly hash: string;
  readonly chain: string;
}

export const CHAIN_BROKEN = 'the chain is broken before it';

/** Why the row differs from what was once stored after the row with the chain `chainBefore`; null if it does not. */
export function faultOfRow(row: FullRow, chainBefore: string, predecessor: Query<Predecessor>): string | null {
  if (row.revision === 0 && row.stream_number !== row.position) return 'its stream has another number';
  if (hash('sha256', canonicalText({ ...row, atMs: row.at_ms }), 'hex') !== row.hash)
    return 'its text does not have its hash';
  if (hash('sha256', chainBefore + row.hash, 'hex') !== row.chain) return CHAIN_BROKEN;
  const before = predecessor.get(row.stream_number, row.revision - 1);
  if (row.revision > 0 && !before) return 'its stream lacks the event before it';
  return prevOf(row.metadata) === (before?.hash ?? '')
    ? null
    : 'it does not name the hash of the event before it in its stream';
}

function toEvent([stream, revision, position, id, type, version, atMs, data, metadata, eventHash]: Row): RecordedEvent {
  return { stream, revision, position: String(position), id, type, version, atMs, data, metadata, hash: eventHash };
}

/** The log never changes, so reading later gives the same result. */
class LazyEvent implements RecordedEvent {
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly atMs: number;
  readonly data: string;
  readonly #position: number;
  readonly #rest: Query<Rest>;

  constructor([stream, revision, position, id, type, version, atMs, data]: DataRow, rest: Query<Rest>) {
    this.stream = stream;
    this.revision = revision;
    this.id = id;
    this.type = type;
    this.version = version;
    this.atMs = atMs;
    this.data = data;
    this.#position = position;
    this.#rest = rest;
  }

  get position(): string {
    return String(this.#position);
  }

  get metadata(): string {
    return this.#read()[0];
  }

  get hash(): string {
    return this.#read()[1];
  }

  #read(): Rest {
    return must(this.#rest.get(this.#position));
  }
}
