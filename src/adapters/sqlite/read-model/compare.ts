import { createHash, type Hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../../ports/event-log/event-store.ts';
import type { OwnedRows } from '../../../ports/read-model/read-model.ts';
import { hasTable, query } from '../database.ts';
import { ArchivedRows } from './archive-files.ts';
import { ListReader } from './list-reader.ts';
import { openForReading, readModelFile, rowTable, rowTableId } from './schema.ts';
import { must } from '../../../domain/values/must.ts';

export interface Drift {
  /** SHA-256 (hex) over all data of the projection. */
  readonly digest: string;
  readonly otherDigest: string;
  readonly rows: number;
  /** Number of rows and list members that differ or exist on one side only. */
  readonly differing: number;
  /** The first few of them, for people. */
  readonly examples: readonly string[];
}

interface Entry {
  readonly key: string;
  readonly value: string;
}

const EXAMPLES = 5;
const ORDER_DIGITS = 15;

/** A snapshot of a read model, for as long as it is open. */
export class ReadModelSnapshot {
  readonly #db: DatabaseSync;
  readonly #lists: ListReader;
  readonly #archived: ArchivedRows;

  constructor(dataDir: string) {
    const file = readModelFile(dataDir);
    this.#db = openForReading(file);
    this.#lists = new ListReader(this.#db);
    this.#archived = new ArchivedRows(this.#db, file);
    this.#db.exec('BEGIN');
    // The snapshot begins with the first read.
    this.checkpoint('');
    this.#archived.hold();
  }

  checkpoint(projection: string): Position | null {
    const checkpoint = query<{ position: Position }>(
      this.#db,
      'SELECT position FROM checkpoints WHERE projection = ?',
    ).get(projection);
    return checkpoint?.position ?? null;
  }

  /** All data of a projection, ordered by key. */
  *entries({ tables, lists }: OwnedRows): Generator<Entry, void> {
    for (const table of [...tables].sort()) {
      const id = rowTableId(this.#db, table);
      if (id === undefined || !hasTable(this.#db, rowTable(id))) continue;
      const rows = query<{ key: string; row: string }>(this.#db, `SELECT key, row FROM ${rowTable(id)} ORDER BY key`);
      for (const { key, row } of rows.iterate()) yield { key: `${table}\0${key}`, value: this.#archived.text(row) };
    }
    for (const prefix of [...lists].sort()) {
      for (const name of this.#lists.names(prefix)) {
        for (const { order, member, atSec } of this.#lists.all(prefix + name))
          yield { key: `${prefix}${name}\0${String(order).padStart(ORDER_DIGITS, '0')}`, value: `${member} ${atSec}` };
      }
    }
  }

  close(): void {
    this.#archived.close();
    this.#db.exec('COMMIT');
    this.#db.close();
  }
}

/** Compares the data of a projection in two read models row by row, in bounded memory. */
export function compareProjection(owned: OwnedRows, one: ReadModelSnapshot, other: ReadModelSnapshot): Drift {
  const [left, right] = [one.entries(owned), other.entries(owned)];
  const [digest, otherDigest] = [createHash('sha256'), createHash('sha256')];
  const examples: string[] = [];
  let [rows, differing] = [0, 0];
  let [mine, theirs] = [next(left, digest), next(right, otherDigest)];
  while (mine || theirs) {
    rows += 1;
    const order = !mine ? 1 : !theirs ? -1 : mine.key < theirs.key ? -1 : mine.key > theirs.key ? 1 : 0;
    if (order !== 0 || !sameValue(must(mine).value, must(theirs).value)) {
      differing += 1;
      const what = order < 0 ? 'is not in the event log' : order > 0 ? 'is missing' : 'differs';
      if (examples.length < EXAMPLES)
        examples.push(`${must(order <= 0 ? mine : theirs).key.replace('\0', ' ')} ${what}`);
    }
    if (order <= 0) mine = next(left, digest);
    if (order >= 0) theirs = next(right, otherDigest);
  }
  return { digest: digest.digest('hex'), otherDigest: otherDigest.digest('hex'), rows, differing, examples };
}

function next(entries: Generator<Entry, void>, digest: Hash): Entry | null {
  const step = entries.next();
  if (step.done === true) return null;
  const entry = step.value;
  digest.update(`${entry.key}\n${canonical(entry.value)}\n`);
  return entry;
}

const sameValue = (one: string, other: string): boolean => one === other || canonical(one) === canonical(other);

/** Removes the influence of field order. */
function canonical(text: string): string {
  if (!text.startsWith('{')) return text;
  const sorted = (value: unknown): unknown =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([one], [other]) => (one < other ? -1 : 1))
            .map(([key, field]) => [key, sorted(field)]),
        )
      : value;
  return JSON.stringify(sorted(JSON.parse(text)));
}
