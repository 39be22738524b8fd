import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { must } from '../../../domain/values/must.ts';
import { KeyedMemoryFailed, type KeyedMemory } from '../../../ports/read-model/keyed-memory.ts';
import { arrayQuery, type Query } from '../database.ts';
import { KeyIndex } from './key-index.ts';

/** Values in memory: the most recent ones; twice as many just before the older half is written. */
const LIVE = 10_000;
const CACHE_KIB = 16_384;

/**
 * Values by key, with only the most recently used in memory. The others are in an unnamed database, which SQLite keeps
 * in a temporary file and removes itself; per key, memory holds 8 to 16 bytes.
 */
export class SpilledMap<Value> implements KeyedMemory<Value> {
  readonly #database = new DatabaseSync('');
  readonly #liveLimit: number;
  /** Least recently used first. */
  readonly #live = new Map<string, Value>();
  readonly #ids = new KeyIndex();
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #byId: Query<[key: string, value: string]>;
  #size = 0;

  constructor(live = LIVE) {
    this.#liveLimit = live;
    this.#database.exec(
      `PRAGMA synchronous = OFF; PRAGMA cache_size = -${CACHE_KIB};
       CREATE TABLE spilled (id INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL);`,
    );
    this.#insert = this.#database.prepare('INSERT INTO spilled (key, value) VALUES (?, ?)');
    this.#update = this.#database.prepare('UPDATE spilled SET value = ? WHERE id = ?');
    this.#byId = arrayQuery(this.#database, 'SELECT key, value FROM spilled WHERE id = ?');
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    const live = this.#live.get(key);
    if (live !== undefined) {
      this.#use(key, live);
      return live;
    }
    const id = this.#idOf(key);
    if (id === 0) return undefined;
    const value = valueOf<Value>(this.#row(id)[1]);
    this.#use(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    if (!this.#live.has(key) && this.#idOf(key) === 0) this.#size += 1;
    this.#use(key, value);
  }

  close(): void {
    this.#live.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #use(key: string, value: Value): void {
    this.#live.delete(key);
    this.#live.set(key, value);
    if (this.#live.size >= 2 * this.#liveLimit) this.#spill();
  }

  #spill(): void {
    orFailed(() => {
      this.#database.exec('BEGIN');
      for (const [key, value] of this.#live) {
        if (this.#live.size <= this.#liveLimit) break;
        this.#write(key, textOf(value));
        this.#live.delete(key);
      }
      this.#database.exec('COMMIT');
    });
  }

  #write(key: string, text: string): void {
    const id = this.#idOf(key);
    if (id > 0) this.#update.run(text, id);
    else this.#ids.add(key, Number(this.#insert.run(key, text).lastInsertRowid));
  }

  #idOf(key: string): number {
    return this.#ids.find(key, (id) => this.#row(id)[0] === key);
  }

  #row(id: number): [key: string, value: string] {
    return orFailed(() => must(this.#byId.get(id)));
  }
}

function orFailed<Result>(use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    throw error instanceof KeyedMemoryFailed
      ? error
      : new KeyedMemoryFailed(`temporary files failed: ${String(error)}`, { cause: error });
  }
}

/**
 * Precedes values without a JSON form, the digits of a bigint, and every text that itself begins with this character.
 */
const MARK = '\u0000';
const BIGINT = `${MARK}n`;
const TEXT = `${MARK}s`;

/** Smaller than the output of `v8.serialize`, whose buffers also fragment memory. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `${BIGINT}${part}`;
    return typeof part === 'string' && part.startsWith(MARK) ? `${TEXT}${part}` : part;
  });

function valueOf<Value>(text: string): Value {
  return JSON.parse(text, (_, part: unknown) => {
    if (typeof part !== 'string' || !part.startsWith(MARK)) return part;
    const rest = part.slice(BIGINT.length);
    return part.startsWith(BIGINT) ? BigInt(rest) : rest;
  }) as Value;
}
