import type { DatabaseSync } from 'node:sqlite';
import { KeyIndex } from './key-index.ts';
import { lineOf, memberOfLine } from './read-model-leaf.ts';
import { listStatements, type StoredList } from './read-model-list-statements.ts';
import {
  blockOf,
  blocksFromBytes,
  blocksToBytes,
  countsKey,
  leafKey,
  leafNumber,
  listOfLeafKey,
  LEAF_ORDERS,
  LEAVES_PER_BLOCK,
  MAX_ORDER,
} from './read-model-ranks.ts';
import { splitList } from './read-model-schema.ts';

interface List {
  /** Null until it is written for the first time. */
  id: number | null;
  readonly set: number;
  readonly name: string;
  /** The last leaf that ever had a member; in none of the counts, and stored with the list. */
  last: Leaf;
  total: number;
  blocks: Uint32Array;
  isDirty: boolean;
  /** When it was last looked at. */
  turn: number;
}

interface Leaf {
  readonly number: number;
  /** By place in the leaf. */
  readonly lines: (string | undefined)[];
  count: number;
  /** Set when it is not the last leaf of its list and was changed. */
  isDirty: boolean;
}

interface Counts {
  readonly list: List;
  readonly block: number;
  readonly ofLeaves: Uint8Array;
  isDirty: boolean;
}

const MAX_LISTS = 20_000;
const MAX_LEAVES = 10_000;
const MAX_COUNTS = 10_000;

/** Where lists went that memory let go, at most: from 8 to 16 MiB. */
const MAX_KNOWN = 1_000_000;

export interface ListWriterOptions {
  /** Before the names of the sets. */
  readonly mark: string;
  /**
   * For lists that are built from none and worth nothing before they are whole: they are written when memory is short or by `settle`, not with every
   * transaction.
   */
  readonly areHeld: boolean;
}

/** Keeps members and the counts above them. All of it is changed in memory and written by `flush`, once a transaction. */
export class ListWriter {
  readonly #mark: string;
  readonly #areHeld: boolean;
  #turn = 0;
  /** Of held lists: what is neither in memory nor here is not there at all. Null when there are too many of them. */
  #known: KeyIndex | null;
  readonly #sets = new Map<string, number>();
  readonly #lists = new Map<string, List>();
  readonly #leaves = new Map<number, Leaf>();
  readonly #counts = new Map<number, Counts>();
  readonly #dirtyLists = new Set<List>();
  /** By key. */
  readonly #dirtyLeaves = new Map<number, Leaf>();
  readonly #dirtyCounts = new Map<number, Counts>();
  readonly #sql;

  constructor(db: DatabaseSync, { mark, areHeld }: ListWriterOptions) {
    this.#mark = mark;
    this.#areHeld = areHeld;
    this.#known = areHeld ? new KeyIndex() : null;
    this.#sql = listStatements(db);
  }

  /** `rowId`: the row of the member, 0 when it is not known. */
  enlist(names: readonly string[], member: string, order: number, atSec: number, rowId: number): void {
    if (!Number.isInteger(order) || order < 0 || order > MAX_ORDER) throw new RangeError(`not an order: ${order}`);
    if (!Number.isSafeInteger(atSec)) throw new RangeError(`not a time: ${atSec}`);
    if (member.includes('\n')) throw new RangeError('a member of a list has no line breaks');
    const line = lineOf(order, atSec, rowId, member);
    for (const name of names) this.#enlist(name, order, line);
  }

  #enlist(name: string, order: number, line: string): void {
    const number = leafNumber(order);
    const list = this.#list(name) ?? this.#make(name, number);
    if (number > list.last.number) this.#moveLast(list, number);
    const leaf = this.#leaf(list, number);
    const place = order % LEAF_ORDERS;
    if (leaf.lines[place] !== undefined) return;
    leaf.lines[place] = line;
    this.#changed(list, leaf, 1);
  }

  delist(name: string, member: string, order: number): void {
    const list = this.#list(name);
    const number = leafNumber(order);
    if (!list || !Number.isInteger(order) || order < 0 || number > list.last.number) return;
    const leaf = this.#leaf(list, number);
    const line = leaf.lines[order % LEAF_ORDERS];
    if (line === undefined || memberOfLine(line) !== member) return;
    leaf.lines[order % LEAF_ORDERS] = undefined;
    this.#changed(list, leaf, -1);
  }

  /** Writes what was changed, but for lists that are held; to be called before the commit. */
  flush(): void {
    this.#saveLeaves();
    if (!this.#areHeld) this.#saveLists(this.#dirtyLists);
    const isFull = this.#lists.size > MAX_LISTS || this.#counts.size > MAX_COUNTS;
    if (isFull) this.#letGo((list) => list.turn < this.#turn);
    if (isFull && this.#lists.size > MAX_LISTS) this.#letGo(() => true);
    this.#turn += 1;
  }

  /** Writes everything. */
  settle(): void {
    this.#saveLeaves();
    this.#saveLists(this.#dirtyLists);
  }

  /** Drops what is in memory, after a rollback. */
  forget(): void {
    for (const cache of [this.#sets, this.#lists, this.#leaves, this.#counts, this.#dirtyLists, this.#dirtyLeaves, this.#dirtyCounts]) cache.clear();
    if (this.#areHeld) this.#known = new KeyIndex();
  }

  /** Drops what is in memory of sets that are another one's, or gone. */
  forgetSets(prefixes: readonly string[]): void {
    for (const prefix of prefixes) {
      const set = this.#sets.get(prefix);
      if (set === undefined) continue;
      this.#sets.delete(prefix);
      this.#remove((list) => list.set === set);
    }
  }

  #saveLeaves(): void {
    // Neighbours are written one after the other.
    for (const [key, leaf] of sorted(this.#dirtyLeaves)) {
      if (leaf.count > 0) this.#sql.saveLeaf.run(key, textOf(leaf.lines));
      else this.#sql.dropLeaf.run(key);
      leaf.isDirty = false;
    }
    // What was written just now is most likely what is written next.
    if (this.#leaves.size > MAX_LEAVES) for (const key of this.#leaves.keys()) if (!this.#dirtyLeaves.has(key)) this.#leaves.delete(key);
    this.#dirtyLeaves.clear();
  }

  #saveLists(lists: ReadonlySet<List>): void {
    for (const list of lists) this.#save(list);
    for (const [key, counts] of sorted(this.#dirtyCounts)) {
      if (!lists.has(counts.list)) continue;
      if (counts.list.blocks[counts.block] === 0) this.#sql.dropCounts.run(key);
      else this.#sql.saveCounts.run(key, withoutTail(counts.ofLeaves));
      counts.isDirty = false;
      this.#dirtyCounts.delete(key);
    }
    if (lists === this.#dirtyLists) this.#dirtyLists.clear();
    else for (const list of lists) this.#dirtyLists.delete(list);
  }

  /** Lists go with their counts, which refer to them. */
  #letGo(isMeant: (list: List) => boolean): void {
    // Their names are random, and sorted the index takes them one beside the other.
    const byName = [...this.#dirtyLists].filter(isMeant).sort((one, other) => (one.name < other.name ? -1 : 1));
    this.#saveLists(new Set(byName));
    for (const [name, list] of this.#lists) if (isMeant(list) && list.id !== null) this.#known?.add(name, list.id);
    if (this.#known && this.#known.size >= MAX_KNOWN) this.#known = null;
    this.#remove(isMeant);
  }

  #remove(isMeant: (list: List) => boolean): void {
    const ids = new Set<number | null>();
    for (const [name, list] of this.#lists) {
      if (!isMeant(list)) continue;
      ids.add(list.id);
      this.#lists.delete(name);
      this.#dirtyLists.delete(list);
    }
    for (const [key, { list }] of this.#counts) {
      if (!isMeant(list)) continue;
      this.#counts.delete(key);
      this.#dirtyCounts.delete(key);
    }
    for (const key of this.#leaves.keys()) {
      if (!ids.has(listOfLeafKey(key))) continue;
      this.#leaves.delete(key);
      this.#dirtyLeaves.delete(key);
    }
  }

  #save(list: List): void {
    const { id, set, name, last, total, blocks } = list;
    const values = [last.number, total, blocksToBytes(blocks), textOf(last.lines)] as const;
    if (id === null) list.id = Number(this.#sql.make.run(set, name, ...values).lastInsertRowid);
    else this.#sql.save.run(...values, id);
    list.isDirty = false;
  }

  #changed(list: List, leaf: Leaf, step: 1 | -1): void {
    leaf.count += step;
    if (leaf === list.last) return this.#touch(list);
    this.#count(list, leaf.number, step);
    this.#rewrite(list, leaf);
  }

  /** What was the last leaf until now is counted and stored on its own from now on. */
  #moveLast(list: List, to: number): void {
    const before = list.last;
    list.last = emptyLeaf(to);
    this.#touch(list);
    if (before.count === 0) return;
    this.#leaves.set(leafKey(this.#idOf(list), before.number), before);
    this.#count(list, before.number, before.count);
    this.#rewrite(list, before);
  }

  #count(list: List, leaf: number, step: number): void {
    const block = blockOf(leaf * LEAF_ORDERS);
    if (block >= list.blocks.length) {
      const grown = new Uint32Array(block + 1);
      grown.set(list.blocks);
      list.blocks = grown;
    }
    const counts = this.#countsOf(list, block);
    list.total += step;
    list.blocks[block]! += step;
    counts.ofLeaves[leaf % LEAVES_PER_BLOCK]! += step;
    this.#touch(list);
    if (!counts.isDirty) this.#dirtyCounts.set(countsKey(this.#idOf(list), block), counts);
    counts.isDirty = true;
  }

  #touch(list: List): void {
    if (!list.isDirty) this.#dirtyLists.add(list);
    list.isDirty = true;
  }

  #rewrite(list: List, leaf: Leaf): void {
    if (!leaf.isDirty) this.#dirtyLeaves.set(leafKey(this.#idOf(list), leaf.number), leaf);
    leaf.isDirty = true;
  }

  #idOf(list: List): number {
    if (list.id === null) this.#save(list);
    return list.id!;
  }

  #list(name: string): List | null {
    const cached = this.#lists.get(name);
    if (cached) {
      cached.turn = this.#turn;
      return cached;
    }
    const [prefix, rest] = splitList(name);
    const set = this.#set(prefix);
    const row = set === null ? undefined : this.#stored(name, set, rest);
    if (!row) return null;
    const [id, last, total, blocks, members] = row;
    const list = { id, set: set!, name: rest, last: leafOf(last, members), total, blocks: blocksFromBytes(blocks), isDirty: false };
    return this.#keep(name, { ...list, turn: this.#turn });
  }

  #stored(name: string, set: number, rest: string): StoredList | undefined {
    if (this.#known === null) return this.#sql.find.get(set, rest) as unknown as StoredList | undefined;
    let found: StoredList | undefined;
    this.#known.find(name, (id) => (found = this.#sql.findById.get(id, set, rest) as unknown as StoredList | undefined) !== undefined);
    return found;
  }

  /** It is written with its first members. */
  #make(name: string, last: number): List {
    const [prefix, rest] = splitList(name);
    const set = this.#set(prefix) ?? this.#makeSet(prefix);
    const list = { id: null, set, name: rest, last: emptyLeaf(last), total: 0, blocks: new Uint32Array(0), isDirty: false };
    return this.#keep(name, { ...list, turn: this.#turn });
  }

  #keep(name: string, list: List): List {
    this.#lists.set(name, list);
    return list;
  }

  #set(prefix: string): number | null {
    const cached = this.#sets.get(prefix);
    if (cached !== undefined) return cached;
    const row = this.#sql.findSet.get(this.#mark + prefix) as unknown as [number] | undefined;
    if (!row) return null;
    this.#sets.set(prefix, row[0]);
    return row[0];
  }

  #makeSet(prefix: string): number {
    const id = Number(this.#sql.makeSet.run(this.#mark + prefix).lastInsertRowid);
    this.#sets.set(prefix, id);
    return id;
  }

  #leaf(list: List, number: number): Leaf {
    if (number === list.last.number) return list.last;
    const key = leafKey(this.#idOf(list), number);
    const cached = this.#leaves.get(key);
    if (cached) return cached;
    const row = this.#sql.findLeaf.get(key) as unknown as [string] | undefined;
    const leaf = row ? leafOf(number, row[0]) : emptyLeaf(number);
    this.#leaves.set(key, leaf);
    return leaf;
  }

  #countsOf(list: List, block: number): Counts {
    const key = countsKey(this.#idOf(list), block);
    const cached = this.#counts.get(key);
    if (cached) return cached;
    const ofLeaves = new Uint8Array(LEAVES_PER_BLOCK);
    const row = list.blocks[block]! > 0 ? (this.#sql.findCounts.get(key) as unknown as [Uint8Array] | undefined) : undefined;
    if (row) ofLeaves.set(row[0]);
    const counts: Counts = { list, block, ofLeaves, isDirty: false };
    this.#counts.set(key, counts);
    return counts;
  }
}

const emptyLeaf = (number: number): Leaf => ({ number, lines: [], count: 0, isDirty: false });

function leafOf(number: number, text: string): Leaf {
  const leaf = emptyLeaf(number);
  if (text === '') return leaf;
  for (const line of text.split('\n')) {
    leaf.lines[Number(line.slice(0, line.indexOf(' ')))] = line;
    leaf.count += 1;
  }
  return leaf;
}

const sorted = <Value>(byKey: ReadonlyMap<number, Value>): [number, Value][] => [...byKey].sort(([one], [other]) => one - other);

function textOf(lines: readonly (string | undefined)[]): string {
  let text = '';
  for (const line of lines) if (line !== undefined) text += text === '' ? line : `\n${line}`;
  return text;
}

/** Lists of few members are most of the lists: what is empty at the end is not written. */
function withoutTail(counts: Uint8Array): Uint8Array {
  let end = counts.length;
  while (end > 0 && counts[end - 1] === 0) end -= 1;
  return counts.subarray(0, end);
}
