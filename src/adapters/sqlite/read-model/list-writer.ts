import type { DatabaseSync } from 'node:sqlite';
import { query } from '../database.ts';
import { KeyIndex } from './key-index.ts';
import { countOnes, flipped, hasBit, NO_BITS, withoutZeros } from './bits.ts';
import { lineAt, lineOf, linesOf, memberOfLine, textOf } from './leaf.ts';
import { List, type Chunk, type Leaf, type OpenSet } from './list.ts';
import { ListSet, type StoredList } from './list-set.ts';
import {
  CHUNK_ORDERS,
  chunkKey,
  chunkNumber,
  countsFromBytes,
  countsToBytes,
  LEAF_ORDERS,
  leafKey,
  leafNumber,
  MAX_ORDER,
} from './ranks.ts';
import { ordinalListOf, splitList } from './schema.ts';
import { must } from '../../../domain/values/must.ts';

/** Limits of what is kept in memory. */
export interface ListLimits {
  /** At most two KiB of bits and a few hundred bytes each. */
  readonly lists: number;
  /** Arrays of names. */
  readonly names: number;
  /** Per set. */
  readonly leaves: number;
  readonly chunks: number;
  /** Locations of lists that left memory: from 8 to 16 MiB. */
  readonly known: number;
}

const LIMITS: ListLimits = { lists: 50_000, names: 1_000, leaves: 10_000, chunks: 10_000, known: 1_000_000 };

export interface ListWriterOptions {
  /** Prefix of the names of the sets. */
  readonly mark: string;
  /**
   * For lists built from nothing that are useless until complete: they are written when memory is short or by `settle`,
   * not with every transaction.
   */
  readonly areHeld: boolean;
  readonly limits?: ListLimits;
}

/**
 * Stores members, and the bits and counts of the lists that show them. Changes happen in memory and are written by
 * `flush`, once per transaction.
 */
export class ListWriter {
  readonly #db: DatabaseSync;
  readonly #mark: string;
  readonly #areHeld: boolean;
  readonly #limits: ListLimits;
  #turn = 0;
  /** For held lists: what is neither in memory nor here does not exist. Null if there are too many of them. */
  #known: KeyIndex | null;
  readonly #sets = new Map<string, OpenSet>();
  /** By full name. */
  readonly #lists = new Map<string, List>();
  readonly #dirtyLists = new Set<List>();
  /** Lists by the array that names them, because thousands of members come with the same few arrays. */
  readonly #byNames = new Map<readonly string[], readonly List[]>();

  constructor(db: DatabaseSync, { mark, areHeld, limits = LIMITS }: ListWriterOptions) {
    this.#db = db;
    this.#mark = mark;
    this.#areHeld = areHeld;
    this.#limits = limits;
    this.#known = areHeld ? new KeyIndex() : null;
  }

  /** `rowId`: the row of the member, 0 if unknown. */
  enlist(names: readonly string[], member: string, order: number, atSec: number, rowId: number): void {
    if (!Number.isInteger(order) || order < 0 || order > MAX_ORDER) throw new RangeError(`not an order: ${order}`);
    if (!Number.isSafeInteger(atSec)) throw new RangeError(`not a time: ${atSec}`);
    if (member.includes('\n')) throw new RangeError('a member of a list has no line breaks');
    let extended: List | null = null;
    for (const list of this.#listsOf(names, order)) {
      // Names given together are mostly views of one ordinal list.
      if (list.ordinalList !== extended && !this.#addMember(list.ordinalList, order, member, atSec, rowId)) continue;
      extended = list.ordinalList;
      list.turn = extended.turn = this.#turn;
      this.#show(list, order);
    }
  }

  #listsOf(names: readonly string[], order: number): readonly List[] {
    const known = names.length > 1 ? this.#byNames.get(names) : undefined;
    if (known) return known;
    const lists = names.map((name) => this.#list(name) ?? this.#make(name, order));
    if (names.length > 1) {
      if (this.#byNames.size >= this.#limits.names) this.#byNames.clear();
      this.#byNames.set(names, lists);
    }
    return lists;
  }

  delist(name: string, member: string, order: number): void {
    const list = this.#list(name);
    if (!list || !Number.isInteger(order) || order < 0 || chunkNumber(order) > list.chunk.number) return;
    const { ordinalList } = list;
    const number = leafNumber(order);
    const line = number > ordinalList.leaf.number ? undefined : lineAt(this.#leaf(ordinalList, number).lines, order);
    if (line === undefined || memberOfLine(line) !== member) return;
    const chunk = this.#chunk(list, chunkNumber(order));
    if (hasBit(chunk.bits, order % CHUNK_ORDERS)) this.#flip(list, chunk, order % CHUNK_ORDERS, -1);
  }

  /** Writes changes except to held lists. Call it before the commit. */
  flush(): void {
    this.#saveParts();
    // Lists without views mostly belong to one session, and are finished.
    if (this.#areHeld) this.#letGo((list) => list.ordinalList === list && !list.hasViews);
    else this.#saveLists(this.#dirtyLists);
    if (this.#lists.size > this.#limits.lists) this.#letGo((list) => list.turn < this.#turn);
    if (this.#lists.size > this.#limits.lists) this.#letGo(() => true);
    this.#turn += 1;
  }

  /** Writes everything of the sets, which are found by name from now on. */
  settle(prefixes: readonly string[]): void {
    this.#saveParts();
    this.#saveLists(this.#dirtyLists);
    for (const prefix of prefixes) this.#set(prefix)?.tables.index();
  }

  /** Discards what is in memory, after a rollback. */
  forget(): void {
    for (const cache of [this.#sets, this.#lists, this.#dirtyLists, this.#byNames]) cache.clear();
    if (this.#areHeld) this.#known = new KeyIndex();
  }

  /** Discards what is in memory of sets that were replaced or removed. */
  forgetSets(prefixes: readonly string[]): void {
    for (const prefix of prefixes) {
      const set = this.#sets.get(prefix);
      if (set === undefined) continue;
      this.#sets.delete(prefix);
      this.#remove((list) => list.set === set);
    }
  }

  /** Saves leaves and chunks that are not part of their list's row. */
  #saveParts(): void {
    for (const { tables, leaves, chunks, dirtyLeaves, dirtyChunks } of this.#sets.values()) {
      // Neighbours are written one after another.
      for (const [key, { lines }] of sorted(dirtyLeaves)) tables.sql.saveLeaf.run(key, textOf(lines));
      for (const [key, { bits, count }] of sorted(dirtyChunks)) {
        if (count > 0) tables.sql.saveChunk.run(key, withoutZeros(bits));
        else tables.sql.dropChunk.run(key);
      }
      // What was just written is most likely to be written next.
      if (leaves.size > this.#limits.leaves) keepOnly(leaves, dirtyLeaves);
      if (chunks.size > this.#limits.chunks) keepOnly(chunks, dirtyChunks);
      dirtyLeaves.clear();
      dirtyChunks.clear();
    }
  }

  #saveLists(lists: Iterable<List>): void {
    for (const list of lists) this.#save(list);
  }

  /** Writes and drops lists. An ordinal list stays as long as its views, which were used no later than it. */
  #letGo(isMeant: (list: List) => boolean): void {
    this.#saveLists([...this.#dirtyLists].filter(isMeant));
    for (const [name, list] of this.#lists) if (isMeant(list) && list.id !== null) this.#known?.add(name, list.id);
    if (this.#known && this.#known.size >= this.#limits.known) this.#known = null;
    this.#remove(isMeant);
  }

  #remove(isMeant: (list: List) => boolean): void {
    this.#byNames.clear();
    for (const [name, list] of this.#lists) {
      if (!isMeant(list)) continue;
      this.#lists.delete(name);
      this.#dirtyLists.delete(list);
    }
  }

  #save(list: List): void {
    const { id, set, name, leaf, chunk, counted, counts } = list;
    const values = [
      leaf.number,
      textOf(leaf.lines),
      chunk.number,
      counted,
      countsToBytes(counts),
      withoutZeros(chunk.bits),
    ] as const;
    if (id === null) list.id = Number(set.tables.sql.make.run(name, ...values).lastInsertRowid);
    else set.tables.sql.save.run(...values, id);
    list.isDirty = false;
    this.#dirtyLists.delete(list);
  }

  /** Adds the member to its ordinal list. False if the order belongs to another member. */
  #addMember(ordinalList: List, order: number, member: string, atSec: number, rowId: number): boolean {
    const number = leafNumber(order);
    if (number > ordinalList.leaf.number) this.#moveLeaf(ordinalList, number);
    const leaf = this.#leaf(ordinalList, number);
    const known = lineAt(leaf.lines, order);
    if (known !== undefined) return memberOfLine(known) === member;
    const line = lineOf(atSec, rowId, member);
    // A growing array reserves room for many more, and most ordinal lists have one member.
    if (order === 0 && leaf.lines.length === 0) leaf.lines = [line];
    else leaf.lines[order % LEAF_ORDERS] = line;
    if (leaf === ordinalList.leaf) this.#touch(ordinalList);
    else ordinalList.set.dirtyLeaves.set(leafKey(this.#idOf(ordinalList), number), leaf);
    return true;
  }

  #show(list: List, order: number): void {
    const number = chunkNumber(order);
    if (number > list.chunk.number) this.#moveChunk(list, number);
    const chunk = this.#chunk(list, number);
    const place = order % CHUNK_ORDERS;
    if (!hasBit(chunk.bits, place)) this.#flip(list, chunk, place, 1);
  }

  #flip(list: List, chunk: Chunk, place: number, step: 1 | -1): void {
    chunk.bits = flipped(chunk.bits, place);
    chunk.count += step;
    this.#touch(list);
    if (chunk === list.chunk) return;
    this.#count(list, chunk.number, step);
    list.set.dirtyChunks.set(chunkKey(this.#idOf(list), chunk.number), chunk);
  }

  /** Stores the former last leaf as a row of its own. */
  #moveLeaf(ordinalList: List, to: number): void {
    const before = ordinalList.leaf;
    ordinalList.leaf = { number: to, lines: [] };
    this.#touch(ordinalList);
    if (before.lines.length === 0) return;
    const key = leafKey(this.#idOf(ordinalList), before.number);
    ordinalList.set.leaves.set(key, before);
    ordinalList.set.dirtyLeaves.set(key, before);
  }

  /** Counts the former last chunk and stores it as a row of its own. */
  #moveChunk(list: List, to: number): void {
    const before = list.chunk;
    list.chunk = { number: to, bits: NO_BITS, count: 0 };
    const counts = new Uint16Array(to);
    counts.set(list.counts);
    list.counts = counts;
    this.#touch(list);
    if (before.count === 0) return;
    this.#count(list, before.number, before.count);
    const key = chunkKey(this.#idOf(list), before.number);
    list.set.chunks.set(key, before);
    list.set.dirtyChunks.set(key, before);
  }

  #count(list: List, chunk: number, step: number): void {
    list.counted += step;
    list.counts[chunk] = (list.counts[chunk] ?? 0) + step;
  }

  #touch(list: List): void {
    if (!list.isDirty) this.#dirtyLists.add(list);
    list.isDirty = true;
  }

  #idOf(list: List): number {
    if (list.id === null) this.#save(list);
    return must(list.id);
  }

  #list(name: string): List | null {
    const cached = this.#lists.get(name);
    if (cached) {
      cached.turn = cached.ordinalList.turn = this.#turn;
      return cached;
    }
    const [prefix, rest] = splitList(name);
    const set = this.#set(prefix);
    const row = set && this.#stored(name, set, rest);
    if (!row) return null;
    const [id, tail, last, chunk, counted, counts, bits] = row;
    const list = this.#keep(name, set, rest, tail, chunk);
    list.id = id;
    list.leaf = { number: tail, lines: linesOf(last) };
    list.chunk = { number: chunk, bits, count: countOnes(bits) };
    list.counted = counted;
    list.counts = countsFromBytes(counts);
    return list;
  }

  #stored(name: string, set: OpenSet, rest: string): StoredList | undefined {
    if (this.#known === null) return set.tables.find(rest);
    let found: StoredList | undefined;
    this.#known.find(name, (id) => (found = set.tables.findById(id, rest)) !== undefined);
    return found;
  }

  /** It is written with its first members. */
  #make(name: string, order: number): List {
    const [prefix, rest] = splitList(name);
    return this.#keep(name, this.#set(prefix) ?? this.#makeSet(prefix), rest, leafNumber(order), chunkNumber(order));
  }

  #keep(name: string, set: OpenSet, rest: string, leaf: number, chunk: number): List {
    const ordinalListName = ordinalListOf(name);
    const ordinalList =
      ordinalListName === name
        ? null
        : (this.#list(ordinalListName) ?? this.#make(ordinalListName, leaf * LEAF_ORDERS));
    const list = new List(set, rest, ordinalList, leaf, chunk);
    list.turn = this.#turn;
    this.#lists.set(name, list);
    return list;
  }

  #set(prefix: string): OpenSet | null {
    const known = this.#sets.get(prefix);
    if (known) return known;
    const row = query<{ id: number }>(this.#db, 'SELECT id FROM list_sets WHERE prefix = ?').get(this.#mark + prefix);
    return row ? this.#open(prefix, row.id) : null;
  }

  #makeSet(prefix: string): OpenSet {
    return this.#open(
      prefix,
      Number(this.#db.prepare('INSERT INTO list_sets (prefix) VALUES (?)').run(this.#mark + prefix).lastInsertRowid),
    );
  }

  #open(prefix: string, id: number): OpenSet {
    const tables = new ListSet(this.#db, id);
    if (!this.#areHeld) tables.index();
    const set = { tables, leaves: new Map(), chunks: new Map(), dirtyLeaves: new Map(), dirtyChunks: new Map() };
    this.#sets.set(prefix, set);
    return set;
  }

  #leaf(ordinalList: List, number: number): Leaf {
    if (number === ordinalList.leaf.number) return ordinalList.leaf;
    const key = leafKey(this.#idOf(ordinalList), number);
    const cached = ordinalList.set.leaves.get(key);
    if (cached) return cached;
    const members = ordinalList.set.tables.leaf(key);
    const leaf: Leaf = { number, lines: members === undefined ? [] : linesOf(members) };
    ordinalList.set.leaves.set(key, leaf);
    return leaf;
  }

  #chunk(list: List, number: number): Chunk {
    if (number === list.chunk.number) return list.chunk;
    const key = chunkKey(this.#idOf(list), number);
    const cached = list.set.chunks.get(key);
    if (cached) return cached;
    const count = list.counts[number] ?? 0;
    const chunk: Chunk = { number, bits: (count > 0 ? list.set.tables.chunk(key) : undefined) ?? NO_BITS, count };
    list.set.chunks.set(key, chunk);
    return chunk;
  }
}

const sorted = <Value>(byKey: ReadonlyMap<number, Value>): [number, Value][] =>
  [...byKey].sort(([one], [other]) => one - other);

function keepOnly<Value>(cache: Map<number, Value>, kept: ReadonlyMap<number, Value>): void {
  for (const key of cache.keys()) if (!kept.has(key)) cache.delete(key);
}
