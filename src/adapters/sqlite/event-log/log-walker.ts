import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { HASH_BYTES, leafHash } from '../../../runtime/merkle/tree.ts';
import type { RecordedEvent } from '../../../ports/event-log/event-store.ts';
import { openDatabase, query, arrayQuery, type Query } from '../database.ts';
import { CHAIN_GENESIS, eventsFile, faultOfSchema } from './event-schema.ts';
import { CHAIN_BROKEN, faultOfRow, PREDECESSOR, type FullRow, type Predecessor } from './event-reader.ts';
import { messageOf } from '../../../runtime/util/message-of.ts';
import { must } from '../../../domain/values/must.ts';

/** An event as the Merkle tree sees it. */
export interface WalkedEvent {
  readonly position: number;
  readonly type: string;
  /** SHA-256 of the event's canonical text, in hex. */
  readonly hash: string;
  /** JSON text. */
  readonly data: string;
}

/** Where and how the log differs from what was once stored. */
export interface LogFault {
  /** The event's position, from 1; null if the fault concerns the whole file. */
  readonly position: number | null;
  readonly reason: string;
}

/** Why an intact event is impossible all the same; null if it is not. */
export type InspectEvent = (event: RecordedEvent) => string | null;

export interface Walk {
  readonly events: readonly WalkedEvent[];
  readonly fault: LogFault | null;
}

const FILE_FAULTS_NAMED = 3;

/**
 * Reads the whole log in order on a separate connection. Positions of this store are dense, so an event's leaf index is
 * its position minus one.
 */
export class LogWalker {
  readonly #database: DatabaseSync;
  readonly #full: Query<FullRow>;
  readonly #short: Query<WalkedEvent & { readonly chain: string }>;
  readonly #hashes: Query<[hash: string]>;
  readonly #end: Query<{ position: number }>;
  readonly #predecessor: Query<Predecessor>;
  #position = 0;
  #chain = CHAIN_GENESIS;

  constructor(dataDir: string) {
    this.#database = openDatabase(eventsFile(dataDir), { synchronous: 'FULL', readOnly: true });
    const range = 'FROM events WHERE position > ? AND position <= ? ORDER BY position';
    this.#full = query(this.#database, `SELECT * ${range}`);
    this.#short = query(this.#database, `SELECT position, type, hash, chain, '' AS data ${range}`);
    this.#hashes = arrayQuery(this.#database, `SELECT hash ${range}`);
    this.#end = query(this.#database, 'SELECT coalesce(max(position), 0) AS position FROM events');
    this.#predecessor = query(this.#database, PREDECESSOR);
  }

  /** Position of the newest event. */
  get end(): number {
    return must(this.#end.get()).position;
  }

  /** The next events, each verified against its hash, the chain, its stream and its position, and then by `inspect`. */
  check(limit: number, inspect?: InspectEvent): Walk {
    const events: WalkedEvent[] = [];
    try {
      const through = Math.min(this.#position + limit, this.end);
      for (const row of this.#full.iterate(this.#position, through)) {
        const expected = this.#position + 1;
        const reason =
          row.position === expected
            ? (faultOfRow(row, this.#chain, this.#predecessor) ?? inspect?.(recordedOf(row)) ?? null)
            : 'the event is missing';
        if (reason) return { events, fault: { position: expected, reason: describe(row, expected, reason) } };
        this.#chain = row.chain;
        this.#position = expected;
        events.push({ position: expected, type: row.type, hash: row.hash, data: row.data });
      }
      if (this.#position < through)
        return { events, fault: { position: this.#position + 1, reason: 'the event is missing' } };
      return { events, fault: null };
    } catch (error) {
      return { events, fault: { position: this.#position + 1, reason: unreadable(error) } };
    }
  }

  /** Starts over with the first event. */
  restart(): void {
    this.#position = 0;
    this.#chain = CHAIN_GENESIS;
  }

  /**
   * The next events, just written by this process, with empty `data`. Their chain continues in the writer's memory, so
   * that an event that somebody else changed meanwhile breaks it.
   */
  follow(limit: number): Walk {
    const events: WalkedEvent[] = [];
    for (const row of this.#short.all(this.#position, Math.min(this.#position + limit, this.end))) {
      const position = this.#position + 1;
      if (row.position !== position) return { events, fault: { position, reason: 'the event is missing' } };
      if (hash('sha256', this.#chain + row.hash, 'hex') !== row.chain)
        return { events, fault: { position, reason: CHAIN_BROKEN } };
      this.#chain = row.chain;
      this.#position = position;
      events.push(row);
    }
    return { events, fault: null };
  }

  /** Leaf hashes from leaf `from` up to but excluding `to`. */
  leaves(from: number, to: number): Buffer {
    const hashes = Buffer.alloc((to - from) * HASH_BYTES);
    const rows = this.#hashes.all(from, to);
    rows.forEach(([text], index) => hashes.set(leafOf(text), index * HASH_BYTES));
    return hashes;
  }

  /** Faults of the file other than in its events: pages, indexes, definitions. Reads the whole file. */
  faultOfFile(): LogFault | null {
    try {
      const definitions = faultOfSchema(this.#database);
      if (definitions !== null) return { position: null, reason: definitions };
      const found = query<{ integrity_check: string }>(
        this.#database,
        `PRAGMA integrity_check(${FILE_FAULTS_NAMED})`,
      ).all();
      const faults = found.map((row) => row.integrity_check).filter((text) => text !== 'ok');
      return faults.length === 0
        ? null
        : { position: null, reason: `the file events.db is damaged: ${faults.join('; ').replaceAll(/\s+/g, ' ')}` };
    } catch (error) {
      return { position: null, reason: unreadable(error) };
    }
  }

  close(): void {
    this.#database.close();
  }
}

const recordedOf = ({
  stream,
  revision,
  position,
  id,
  type,
  version,
  at_ms: atMs,
  data,
  metadata,
  hash,
}: FullRow): RecordedEvent => ({
  ...{ stream, revision, position: String(position), id, type, version, atMs },
  ...{ data, metadata, hash },
});

/** The leaf of an event, from its hash in hex. */
export const leafOf = (eventHash: string): Buffer => leafHash(Buffer.from(eventHash, 'hex'));

const describe = ({ stream, revision, position }: FullRow, expected: number, reason: string): string =>
  position === expected ? `event ${revision} of stream ${stream}: ${reason}` : reason;

const unreadable = (error: unknown): string => `the file events.db cannot be read: ${messageOf(error)}`;
