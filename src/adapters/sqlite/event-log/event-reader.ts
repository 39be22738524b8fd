import { hash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalText } from '../../../domain/events/canonical-text.ts';
import type { ReadAllOptions, RecordedEvent } from '../../../ports/event-store.ts';
import type { Tail } from './append-job.ts';
import { arrays } from '../database.ts';
import { CHAIN_GENESIS } from './event-schema.ts';
import type { UsedNonce } from '../nonces/nonces-file.ts';
import { parsePosition } from './position.ts';
import type { StreamName } from './stream-names-file.ts';

/** Positions looked through in one turn of the event loop. */
const READ_WINDOW = 1_024;

/** Where a page ends before its window does. */
const PAGE_CHARACTERS = 32 * 1024 * 1024;

/** The hash of an event by its place in its stream. */
export const PREDECESSOR = 'SELECT hash FROM events WHERE stream_number = ? AND revision = ?';

/** Rows turned into records before their texts are counted. */
const PAGE_ROWS = 256;

const DATA_COLUMNS = 'stream, revision, position, id, type, version, at_ms, data';
const COLUMNS = `${DATA_COLUMNS}, metadata, hash`;

type DataRow = readonly [string, number, number, string, string, number, number, string];
type Row = readonly [...DataRow, string, string];

/** A stretch of the log: what matched in it, and the position up to which it was looked through. */
export interface LogPage {
  readonly events: RecordedEvent[];
  readonly through: number;
}

export type TailCheck =
  | { readonly ok: true; readonly checked: number }
  /** The first event, oldest first, that is not what was once stored there. */
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
  readonly #ofStream: StatementSync;
  readonly #lastOfStream: StatementSync;
  readonly #last: StatementSync;
  readonly #rest: StatementSync;
  readonly #streamAt: StatementSync;
  readonly #isLazy: boolean;
  readonly #pages = new Map<number, StatementSync>();

  /** `lazily`: pages leave metadata and hash, a quarter of what is read, on disk until they are looked at. */
  constructor(database: DatabaseSync, { lazily = false } = {}) {
    this.#database = database;
    this.#isLazy = lazily;
    this.#rest = arrays(database.prepare('SELECT metadata, hash FROM events WHERE position = ?'));
    this.#streamAt = arrays(database.prepare('SELECT stream FROM events WHERE position = ?'));
    const ofStream = `SELECT ${COLUMNS} FROM events WHERE stream_number = ?`;
    this.#ofStream = arrays(database.prepare(`${ofStream} AND revision >= ? ORDER BY revision LIMIT ?`));
    this.#lastOfStream = arrays(database.prepare(`${ofStream} ORDER BY revision DESC LIMIT 1`));
    this.#last = database.prepare('SELECT position, chain FROM events ORDER BY position DESC LIMIT 1');
  }

  /** `limit` -1: all. */
  stream(number: number, from: number, limit: number): RecordedEvent[] {
    return (this.#ofStream.all(number, from, limit) as unknown as Row[]).map(toEvent);
  }

  lastOfStream(number: number): RecordedEvent | null {
    const row = this.#lastOfStream.get(number) as unknown as Row | undefined;
    return row ? toEvent(row) : null;
  }

  /** Looks through at most `window` positions and returns at most that many events. */
  page(after: number, window: number, prefixes: readonly string[] | undefined, head: number): LogPage {
    const through = Math.min(after + window, head);
    if (through <= after) return { events: [], through: after };
    const bounds = prefixes?.flatMap((prefix) => [prefix, `${prefix}\u{10ffff}`]) ?? [];
    const statement = this.#pageStatement(bounds.length / 2);
    const events: RecordedEvent[] = [];
    let characters = 0;
    for (let from = after; from < through; from += PAGE_ROWS) {
      const to = Math.min(from + PAGE_ROWS, through);
      for (const row of statement.all(from, to, ...bounds) as unknown as Row[]) {
        events.push(this.#isLazy ? new LazyEvent(row, this.#rest) : toEvent(row));
        characters += row[7].length;
      }
      // Large pages are for many small events; of large ones memory would not hold so many.
      if (characters > PAGE_CHARACTERS) return { events, through: to };
    }
    return { events, through };
  }

  tail(): Tail {
    const row = this.#last.get() as { position: number; chain: string } | undefined;
    return row ? { position: row.position, chain: row.chain } : { position: 0, chain: CHAIN_GENESIS };
  }

  /** The streams that begin after the position. */
  streamsAfter(position: number): Iterable<StreamName> {
    const sql =
      'SELECT stream AS name, position AS number FROM events WHERE position > ? AND revision = 0 ORDER BY position';
    return this.#database.prepare(sql).iterate(position) as Iterable<unknown> as Iterable<StreamName>;
  }

  /** The number of a stream that begins after the position; null when there is none. Reads all that follows. */
  streamNumberAfter(position: number, stream: string): number | null {
    const sql = 'SELECT position FROM events WHERE position > ? AND revision = 0 AND stream = ?';
    const row = this.#database.prepare(sql).get(position, stream) as { position: number } | undefined;
    return row?.position ?? null;
  }

  /** The name of the event's stream; null when there is no event at the position. */
  streamAt(position: number): string | null {
    const row = this.#streamAt.get(position) as unknown as [string] | undefined;
    return row ? row[0] : null;
  }

  /** Nonces that were committed with commands and had not expired at the time. */
  commandNonces(nowSec: number): UsedNonce[] {
    const sql = 'SELECT digest, expires_at_sec AS expiresAtSec FROM command_nonces WHERE expires_at_sec >= ?';
    return this.#database.prepare(sql).all(nowSec) as unknown as UsedNonce[];
  }

  /** Null when there is no event at the position. */
  chainAt(position: number): string | null {
    if (position === 0) return CHAIN_GENESIS;
    const row = this.#database.prepare('SELECT chain FROM events WHERE position = ?').get(position) as
      | { chain: string }
      | undefined;
    return row?.chain ?? null;
  }

  /** Events after the newest one of a type; at most `limit`, which is also what is looked through. */
  sinceLast(type: string, limit: number): number {
    const { position: head } = this.tail();
    const sql = 'SELECT position FROM events WHERE position > ? AND type = ? ORDER BY position DESC LIMIT 1';
    const row = this.#database.prepare(sql).get(Math.max(head - limit, 0), type) as { position: number } | undefined;
    return row ? head - row.position : Math.min(head, limit);
  }

  /** Checks hash, chain, place in the stream and `prev` of the last `count` events. */
  verifyTail(count: number): TailCheck {
    const { position: head } = this.tail();
    const from = Math.max(head - count, 0);
    const before = this.chainAt(from);
    if (before === null) return { ok: false, position: from, reason: 'the event is missing' };
    const rows = this.#database.prepare('SELECT * FROM events WHERE position > ? ORDER BY position').iterate(from);
    const predecessor = this.#database.prepare(PREDECESSOR);
    let expected = from;
    let chain = before;
    for (const row of rows as Iterable<unknown> as Iterable<FullRow>) {
      expected += 1;
      const reason = row.position === expected ? faultOfRow(row, chain, predecessor) : 'the event is missing';
      if (reason) return { ok: false, position: expected, reason };
      chain = row.chain;
    }
    return { ok: true, checked: expected - from };
  }

  #pageStatement(prefixes: number): StatementSync {
    let statement = this.#pages.get(prefixes);
    if (!statement) {
      const columns = this.#isLazy ? DATA_COLUMNS : COLUMNS;
      const filter =
        prefixes === 0
          ? ''
          : `AND (${Array.from({ length: prefixes }, () => '(stream >= ? AND stream < ?)').join(' OR ')})`;
      statement = arrays(
        this.#database.prepare(
          `SELECT ${columns} FROM events WHERE position > ? AND position <= ? ${filter} ORDER BY position`,
        ),
      );
      this.#pages.set(prefixes, statement);
    }
    return statement;
  }
}

/** A row of the log, with everything that is stored of it. */
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

/** Why the row is not what was once stored after the one with the chain `chainBefore`; null when it is. */
export function faultOfRow(row: FullRow, chainBefore: string, predecessor: StatementSync): string | null {
  if (row.revision === 0 && row.stream_number !== row.position) return 'its stream has another number';
  if (hash('sha256', canonicalText({ ...row, atMs: row.at_ms }), 'hex') !== row.hash)
    return 'its text does not have its hash';
  if (hash('sha256', chainBefore + row.hash, 'hex') !== row.chain) return 'the chain is broken before it';
  const before = predecessor.get(row.stream_number, row.revision - 1) as { hash: string } | undefined;
  if (row.revision > 0 && !before) return 'its stream lacks the event before it';
  return prevOf(row.metadata) === (before?.hash ?? '')
    ? null
    : 'it does not name the hash of the event before it in its stream';
}

function prevOf(metadata: string): unknown {
  try {
    return (JSON.parse(metadata) as { prev?: unknown } | null)?.prev;
  } catch {
    return null;
  }
}

function toEvent([stream, revision, position, id, type, version, atMs, data, metadata, eventHash]: Row): RecordedEvent {
  return { stream, revision, position: String(position), id, type, version, atMs, data, metadata, hash: eventHash };
}

/** The log is never changed, so what is read later is what would have been read now. */
class LazyEvent implements RecordedEvent {
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly atMs: number;
  readonly data: string;
  readonly #position: number;
  readonly #rest: StatementSync;

  constructor([stream, revision, position, id, type, version, atMs, data]: DataRow | Row, rest: StatementSync) {
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

  #read(): [metadata: string, hash: string] {
    return this.#rest.get(this.#position) as unknown as [string, string];
  }
}
