import type { DatabaseSync } from 'node:sqlite';
import type { ListMember, ListRange } from '../../../ports/read-model/read-model.ts';
import { arrayQuery, type Query } from '../database.ts';
import { NO_BITS, onesBelow, placeOfRank, placesDown } from './bits.ts';
import { lastLineOf, LeafWalk, linesOf, readLine, secondOfLine, type LeafMember } from './leaf.ts';
import { LIST_COLUMNS, listTables, type StoredList } from './list-set.ts';
import {
  CHUNK_ORDERS,
  chunkKey,
  chunkNumber,
  countsFromBytes,
  LEAF_ORDERS,
  leafKey,
  leafNumber,
  leafOfKey,
  locate,
  MAX_ORDER,
  sumBelow,
} from './ranks.ts';
import { ordinalListOf, splitList } from './schema.ts';
import { must } from '../../../domain/values/must.ts';

/** Queries on one set of lists. */
interface SetQueries {
  readonly list: Query<StoredList>;
  readonly ordinalList: Query<[id: number, tail: number, last: string]>;
  readonly chunk: Query<[bits: Uint8Array]>;
  readonly leaf: Query<[members: string]>;
  readonly upwards: Query<[id: number, members: string]>;
}

/** A stored list: bits of its members' orders. */
interface Bits {
  readonly id: number;
  readonly queries: SetQueries;
  /** Number of the last chunk. */
  readonly number: number;
  readonly last: Uint8Array;
  /** Number of members of each chunk before the last one, and of all of them. */
  readonly counts: Uint16Array;
  readonly counted: number;
  /** The most recently read chunk: a page begins in the one in which its rank was found. */
  read?: { readonly number: number; readonly bits: Uint8Array };
}

/** The members themselves. */
interface OrdinalList {
  readonly id: number;
  readonly queries: SetQueries;
  /** Number of the last leaf. */
  readonly tail: number;
  readonly last: string;
}

interface Found {
  readonly bits: Bits;
  readonly ordinalList: OrdinalList;
}

interface Orders {
  /** Inclusive. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** Row ids remembered from the latest pages, because their rows are requested next. */
const MAX_HINTS = 1_000;
const NO_ORDER = MAX_ORDER + 1;

/** Reads lists within its caller's read transaction, so that bits, counts and members belong to one commit. */
export class ListReader {
  /** Row locations of recently read members; to be checked against the key. */
  readonly rowHints = new Map<string, number>();
  readonly #db: DatabaseSync;
  readonly #findSet: Query<[id: number]>;
  readonly #sets = new Map<number, SetQueries>();

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#findSet = arrayQuery(db, 'SELECT id FROM list_sets WHERE prefix = ?');
  }

  page(name: string, offset: number, limit: number, range: ListRange): { members: ListMember[]; total: number } {
    const found = this.#find(name);
    if (!found) return { members: [], total: 0 };
    const { bits, ordinalList } = found;
    const { from, to } = ordersIn(ordinalList, range);
    const below = rank(bits, to);
    const total = Math.max(0, below - rank(bits, from));
    const count = Math.min(limit, total - offset);
    if (count <= 0) return { members: [], total };
    return {
      members: this.#members(ordinalList, down(bits, orderOfRank(bits, below - 1 - offset) + 1, from, count)),
      total,
    };
  }

  before(name: string, before: number | null, limit: number, range: ListRange): ListMember[] {
    const found = this.#find(name);
    if (!found) return [];
    const { from, to } = ordersIn(found.ordinalList, range);
    return this.#members(found.ordinalList, down(found.bits, Math.min(to, before ?? NO_ORDER), from, limit));
  }

  /** Names of the lists of a set in order, without the set's own name. */
  *names(prefix: string): Generator<string, void> {
    const set = this.#findSet.get(prefix);
    if (!set) return;
    const names = arrayQuery<[string]>(this.#db, `SELECT name FROM ${listTables(set[0]).lists} ORDER BY name`);
    for (const [name] of names.iterate()) yield name;
  }

  /** Every member of a list, lowest order first. A member missing from the ordinal list has no name. */
  *all(name: string): Generator<LeafMember & { readonly order: number }, void> {
    const found = this.#find(name);
    if (!found) return;
    const { bits, ordinalList } = found;
    const lines = new OrdinalWalk(ordinalList);
    for (let number = 0; number <= bits.number; number += 1) {
      const start = number * CHUNK_ORDERS;
      for (const place of placesDown(chunk(bits, number), CHUNK_ORDERS, 0, CHUNK_ORDERS).reverse()) {
        yield { order: start + place, ...readLine(lines.lineAt(start + place) ?? '') };
      }
    }
  }

  #find(name: string): Found | null {
    const [prefix, rest] = splitList(name);
    const set = this.#findSet.get(prefix);
    if (!set) return null;
    const queries = this.#queries(set[0]);
    const row = queries.list.get(rest);
    if (!row) return null;
    const [id, , , number, counted, counts, last] = row;
    const ordinalListName = ordinalListOf(rest);
    const [ordinalListId, tail, members] =
      ordinalListName === rest ? row : must(queries.ordinalList.get(ordinalListName));
    return {
      bits: { id, queries, number, last, counts: countsFromBytes(counts), counted },
      ordinalList: { id: ordinalListId, queries, tail, last: members },
    };
  }

  /** Members with these orders on the ordinal list, highest first. */
  #members(ordinalList: OrdinalList, orders: readonly number[]): ListMember[] {
    if (this.rowHints.size > MAX_HINTS) this.rowHints.clear();
    const lines = new OrdinalWalk(ordinalList);
    const members: ListMember[] = [];
    for (let index = orders.length - 1; index >= 0; index -= 1) {
      const order = must(orders[index]);
      const line = lines.lineAt(order);
      if (line === undefined) throw new Error(`order ${order} of list ${ordinalList.id} has no member`);
      const { member, rowId } = readLine(line);
      if (rowId > 0) this.rowHints.set(member, rowId);
      members.push({ member, order });
    }
    return members.reverse();
  }

  #queries(set: number): SetQueries {
    const known = this.#sets.get(set);
    if (known) return known;
    const { lists, leaves, chunks } = listTables(set);
    const queries: SetQueries = {
      list: arrayQuery(this.#db, `SELECT ${LIST_COLUMNS} FROM ${lists} WHERE name = ?`),
      ordinalList: arrayQuery(this.#db, `SELECT id, tail, last FROM ${lists} WHERE name = ?`),
      chunk: arrayQuery(this.#db, `SELECT bits FROM ${chunks} WHERE id = ?`),
      leaf: arrayQuery(this.#db, `SELECT members FROM ${leaves} WHERE id = ?`),
      upwards: arrayQuery(this.#db, `SELECT id, members FROM ${leaves} WHERE id >= ? AND id <= ? ORDER BY id LIMIT 1`),
    };
    this.#sets.set(set, queries);
    return queries;
  }
}

/** Lines of an ordinal list in ascending order. */
class OrdinalWalk {
  readonly #ordinalList: OrdinalList;
  #number = -1;
  #leaf = new LeafWalk('');

  constructor(ordinalList: OrdinalList) {
    this.#ordinalList = ordinalList;
  }

  lineAt(order: number): string | undefined {
    const number = leafNumber(order);
    if (number !== this.#number) {
      this.#number = number;
      this.#leaf = new LeafWalk(leaf(this.#ordinalList, number));
    }
    return this.#leaf.lineAt(order);
  }
}

/** Time never decreases within an ordinal list, so a time range is an order range. */
function ordersIn(ordinalList: OrdinalList, { fromSec, toSec }: ListRange): Orders {
  return {
    from: fromSec === undefined ? 0 : firstAt(ordinalList, fromSec),
    to: toSec === undefined ? NO_ORDER : firstAt(ordinalList, toSec + 1),
  };
}

/** The lowest order of the ordinal list at or after the second, by binary search over leaves. */
function firstAt(ordinalList: OrdinalList, sec: number): number {
  let [number, text] = [ordinalList.tail, ordinalList.last];
  for (let [low, high] = [0, ordinalList.tail]; low < high;) {
    const middle = Math.floor((low + high) / 2);
    const row = ordinalList.queries.upwards.get(leafKey(ordinalList.id, middle), leafKey(ordinalList.id, high - 1));
    if (row && secondOfLine(lastLineOf(row[1])) < sec) low = leafOfKey(row[0]) + 1;
    else {
      if (row) [number, text] = [leafOfKey(row[0]), row[1]];
      high = middle;
    }
  }
  const place = linesOf(text).findIndex((line) => line !== '' && secondOfLine(line) >= sec);
  return place < 0 ? NO_ORDER : number * LEAF_ORDERS + place;
}

/** Number of members with a lower order. */
function rank(bits: Bits, order: number): number {
  if (order === 0) return 0;
  const number = chunkNumber(order);
  if (number > bits.number) return bits.counted + onesBelow(bits.last, CHUNK_ORDERS);
  const below = number === bits.number ? bits.counted : sumBelow(bits.counts, number);
  return below + onesBelow(chunk(bits, number), order % CHUNK_ORDERS);
}

function orderOfRank(bits: Bits, wanted: number): number {
  if (wanted >= bits.counted) return bits.number * CHUNK_ORDERS + placeOfRank(bits.last, wanted - bits.counted);
  const { index, rest } = locate(bits.counts, wanted);
  return index * CHUNK_ORDERS + placeOfRank(chunk(bits, index), rest);
}

/** At most `limit` orders from the range, highest first; `to` is exclusive. */
function down(bits: Bits, to: number, from: number, limit: number): number[] {
  const orders: number[] = [];
  const lowest = chunkNumber(from);
  for (
    let number = Math.min(bits.number, chunkNumber(to - 1));
    number >= lowest && orders.length < limit;
    number -= 1
  ) {
    const start = number * CHUNK_ORDERS;
    const places = placesDown(
      chunk(bits, number),
      Math.min(to - start, CHUNK_ORDERS),
      Math.max(from - start, 0),
      limit - orders.length,
    );
    for (const place of places) orders.push(start + place);
  }
  return orders;
}

function chunk(bits: Bits, number: number): Uint8Array {
  if (number === bits.number) return bits.last;
  if (!bits.counts[number]) return NO_BITS;
  if (bits.read?.number !== number) {
    const row = bits.queries.chunk.get(chunkKey(bits.id, number));
    if (!row) throw new Error(`list ${bits.id} has no chunk ${number}`);
    bits.read = { number, bits: row[0] };
  }
  return bits.read.bits;
}

function leaf(ordinalList: OrdinalList, number: number): string {
  if (number === ordinalList.tail) return ordinalList.last;
  return ordinalList.queries.leaf.get(leafKey(ordinalList.id, number))?.[0] ?? '';
}
