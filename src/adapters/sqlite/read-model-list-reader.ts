import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { ListMember, ListRange } from '../../ports/read-model.ts';
import { membersOf, type LeafMember } from './read-model-leaf.ts';
import {
  blockOf,
  blocksFromBytes,
  countsKey,
  LEAF_ORDERS,
  leafKey,
  leafNumber,
  leafOf,
  leafOfKey,
  LEAVES_PER_BLOCK,
  locate,
  sumBelow,
} from './read-model-ranks.ts';
import { splitList } from './read-model-schema.ts';

interface Head {
  readonly id: number;
  readonly tail: number;
  /** Members before the last leaf. */
  readonly counted: number;
  readonly blocks: Uint32Array;
  /** Members of the last leaf, lowest order first. */
  readonly last: readonly LeafMember[];
}

interface Orders {
  /** Included. */
  readonly from: number;
  /** Excluded. */
  readonly to: number;
}

/** Row ids remembered from the pages read last. */
const MAX_HINTS = 10_000;

/** Reads lists within a read transaction of its caller, so that counts and members are of one commit. */
export class ListReader {
  /** Where the rows of members seen lately were put; to be checked against the key. */
  readonly rowHints = new Map<string, number>();
  readonly #sql: Record<'find' | 'counts' | 'leaf' | 'upwards' | 'downwards', StatementSync>;

  constructor(db: DatabaseSync) {
    this.#sql = {
      find: db.prepare('SELECT id, tail, total, blocks, last FROM lists WHERE list_set = (SELECT id FROM list_sets WHERE prefix = ?) AND name = ?'),
      counts: db.prepare('SELECT counts FROM list_counts WHERE key = ?'),
      leaf: db.prepare('SELECT members FROM list_leaves WHERE key = ?'),
      upwards: db.prepare('SELECT key, members FROM list_leaves WHERE key >= ? AND key <= ? ORDER BY key LIMIT 1'),
      downwards: db.prepare('SELECT key, members FROM list_leaves WHERE key <= ? AND key >= ? ORDER BY key DESC'),
    };
    for (const statement of Object.values(this.#sql)) statement.setReturnArrays(true);
  }

  page(name: string, offset: number, limit: number, range: ListRange): { members: ListMember[]; total: number } {
    const list = this.#find(name);
    if (!list) return { members: [], total: 0 };
    const { from, to } = this.#orders(list, range);
    const below = this.#rank(list, to);
    const total = Math.max(0, below - this.#rank(list, from));
    const count = Math.min(limit, total - offset);
    if (count <= 0) return { members: [], total };
    return { members: this.#downFromRank(list, below - 1 - offset, count), total };
  }

  before(name: string, before: number | null, limit: number, range: ListRange): ListMember[] {
    const list = this.#find(name);
    if (!list) return [];
    const { from, to } = this.#orders(list, range);
    return this.#down(list, Math.min(to, before ?? Infinity), from, limit);
  }

  #find(name: string): Head | null {
    const row = this.#sql.find.get(...splitList(name)) as unknown as [number, number, number, Uint8Array, string] | undefined;
    if (!row) return null;
    const [id, tail, counted, blocks, last] = row;
    return { id, tail, counted, blocks: blocksFromBytes(blocks), last: membersOf(last, tail * LEAF_ORDERS) };
  }

  /** Time never falls within a list, so a range of time is a range of orders. */
  #orders(list: Head, { fromSec, toSec }: ListRange): Orders {
    return { from: fromSec === undefined ? 0 : this.#firstAt(list, fromSec), to: toSec === undefined ? Infinity : this.#firstAt(list, toSec + 1) };
  }

  /** The lowest order listed at the second or later. Looks into one leaf for each halving of the list. */
  #firstAt(list: Head, sec: number): number {
    let found: readonly LeafMember[] = list.last;
    for (let [low, high] = [0, list.tail]; low < high;) {
      const middle = Math.floor((low + high) / 2);
      const row = this.#sql.upwards.get(leafKey(list.id, middle), leafKey(list.id, high - 1)) as unknown as [number, string] | undefined;
      const leaf = row && leafOfKey(row[0]);
      const members = row && membersOf(row[1], leaf! * LEAF_ORDERS);
      if (members && members.at(-1)!.atSec < sec) low = leaf! + 1;
      else {
        if (members) found = members;
        high = middle;
      }
    }
    return found.find((member) => member.atSec >= sec)?.order ?? Infinity;
  }

  /** How many members have a lower order. */
  #rank(list: Head, order: number): number {
    if (order === 0) return 0;
    const leaf = leafNumber(order);
    if (leaf >= list.tail) return list.counted + countBelow(list.last, order);
    const block = blockOf(order);
    if (block >= list.blocks.length) return list.counted;
    const below = sumBelow(list.blocks, block);
    if (list.blocks[block] === 0) return below;
    const counts = this.#counts(list, block);
    const inBlock = leafOf(order);
    return below + sumBelow(counts, inBlock) + (counts[inBlock] ? countBelow(this.#leaf(list.id, leaf), order) : 0);
  }

  /** `count` members from a rank (counted from the lowest) downwards. */
  #downFromRank(list: Head, rank: number, count: number): ListMember[] {
    if (rank >= list.counted) return this.#down(list, list.last[rank - list.counted]!.order + 1, 0, count);
    const { index: block, rest: inBlock } = locate(list.blocks, rank);
    const { index: leaf, rest } = locate(this.#counts(list, block), inBlock);
    const number = block * LEAVES_PER_BLOCK + leaf;
    return this.#down(list, this.#leaf(list.id, number)[rest]!.order + 1, 0, count);
  }

  /** At most `limit` members with orders below `to` and not below `from`, highest first. */
  #down(list: Head, to: number, from: number, limit: number): ListMember[] {
    const found: ListMember[] = [];
    const take = (members: readonly LeafMember[]): void => {
      for (let index = members.length - 1; index >= 0 && found.length < limit; index -= 1) {
        const { member, order, rowId } = members[index]!;
        if (order >= to || order < from) continue;
        if (rowId > 0) this.rowHints.set(member, rowId);
        found.push({ member, order });
      }
    };
    if (this.rowHints.size > MAX_HINTS) this.rowHints.clear();
    const highest = Math.min(list.tail, leafNumber(Math.min(to, Number.MAX_SAFE_INTEGER)));
    const lowest = leafNumber(Math.min(from, Number.MAX_SAFE_INTEGER));
    if (highest === list.tail) take(list.last);
    const below = highest === list.tail ? highest - 1 : highest;
    if (found.length === limit || below < lowest) return found;
    const rows = this.#sql.downwards.iterate(leafKey(list.id, below), leafKey(list.id, lowest)) as Iterable<unknown> as Iterable<[number, string]>;
    for (const [key, text] of rows) {
      take(membersOf(text, leafOfKey(key) * LEAF_ORDERS));
      if (found.length === limit) break;
    }
    return found;
  }

  #counts(list: Head, block: number): Uint8Array {
    const row = this.#sql.counts.get(countsKey(list.id, block)) as unknown as [Uint8Array] | undefined;
    if (!row) throw new Error(`list ${list.id} has no counts for block ${block}`);
    return row[0];
  }

  #leaf(list: number, leaf: number): LeafMember[] {
    const row = this.#sql.leaf.get(leafKey(list, leaf)) as unknown as [string] | undefined;
    return row ? membersOf(row[0], leaf * LEAF_ORDERS) : [];
  }
}

const countBelow = (members: readonly LeafMember[], order: number): number => {
  const index = members.findIndex((member) => member.order >= order);
  return index < 0 ? members.length : index;
};
