import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { ListMember, ListRange } from '../../ports/read-model.ts';
import { blockOf, blocksFromBytes, LEAF_ORDERS, leafOf, leafStart, locate, sumBelow } from './read-model-ranks.ts';

interface Head {
  readonly id: number;
  readonly total: number;
  readonly blocks: Uint32Array;
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
  readonly #sql: Record<'find' | 'leaves' | 'members' | 'membersFrom' | 'within' | 'second', StatementSync>;

  constructor(db: DatabaseSync) {
    this.#sql = {
      find: db.prepare('SELECT id, total, blocks FROM lists WHERE name = ?'),
      leaves: db.prepare('SELECT counts FROM list_leaves WHERE list = ? AND block = ?'),
      members: db.prepare('SELECT place, member, row_id FROM list_members WHERE list = ? AND place <= ? ORDER BY place DESC LIMIT ? OFFSET ?'),
      membersFrom: db.prepare(
        'SELECT place, member, row_id FROM list_members WHERE list = ? AND place < ? AND place >= ? ORDER BY place DESC LIMIT ?',
      ),
      within: db.prepare('SELECT COUNT(*) FROM list_members WHERE list = ? AND place >= ? AND place < ?'),
      second: db.prepare('SELECT first_place FROM list_seconds WHERE list = ? AND at_sec >= ? ORDER BY at_sec LIMIT 1'),
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
    return this.#members(
      this.#sql.membersFrom.all(list.id, Math.min(to, before ?? Infinity, Number.MAX_SAFE_INTEGER), Math.min(from, Number.MAX_SAFE_INTEGER), limit),
    );
  }

  #find(name: string): Head | null {
    const row = this.#sql.find.get(name) as unknown as [number, number, Uint8Array] | undefined;
    return row ? { id: row[0], total: row[1], blocks: blocksFromBytes(row[2]) } : null;
  }

  /** Time never falls within a list, so a range of time is a range of orders. */
  #orders(list: Head, { fromSec, toSec }: ListRange): Orders {
    return { from: fromSec === undefined ? 0 : this.#firstAt(list, fromSec), to: toSec === undefined ? Infinity : this.#firstAt(list, toSec + 1) };
  }

  #firstAt(list: Head, sec: number): number {
    const row = this.#sql.second.get(list.id, sec) as unknown as [number] | undefined;
    return row ? row[0] : Infinity;
  }

  /** How many members have a lower order. */
  #rank(list: Head, order: number): number {
    if (order === 0) return 0;
    const block = blockOf(order);
    if (block >= list.blocks.length) return list.total;
    const below = sumBelow(list.blocks, block);
    if (list.blocks[block] === 0) return below;
    const leaves = this.#leaves(list, block);
    const leaf = leafOf(order);
    const start = leafStart(block, leaf);
    const count = leaves[leaf] ?? 0;
    // A full leaf has no gaps; in another at most 63 members are counted.
    const within = count === LEAF_ORDERS ? order - start : count === 0 ? 0 : (this.#sql.within.get(list.id, start, order) as unknown as [number])[0];
    return below + sumBelow(leaves, leaf) + within;
  }

  /** `count` members from a rank (counted from the lowest) downwards. */
  #downFromRank(list: Head, rank: number, count: number): ListMember[] {
    const { index: block, rest: inBlock } = locate(list.blocks, rank);
    const leaves = this.#leaves(list, block);
    const { index: leaf, rest } = locate(leaves, inBlock);
    const start = leafStart(block, leaf);
    const isFull = leaves[leaf] === LEAF_ORDERS;
    // In a leaf with gaps at most 63 members are stepped over.
    const from = isFull ? start + rest : start + LEAF_ORDERS - 1;
    const skip = isFull ? 0 : leaves[leaf]! - 1 - rest;
    return this.#members(this.#sql.members.all(list.id, from, count, skip));
  }

  #leaves(list: Head, block: number): Uint8Array {
    const row = this.#sql.leaves.get(list.id, block) as unknown as [Uint8Array] | undefined;
    if (!row) throw new Error(`list ${list.id} has no counts for block ${block}`);
    return row[0];
  }

  #members(found: unknown): ListMember[] {
    if (this.rowHints.size > MAX_HINTS) this.rowHints.clear();
    return (found as [number, string, number | null][]).map(([order, member, rowId]) => {
      if (rowId !== null) this.rowHints.set(member, rowId);
      return { member, order };
    });
  }
}
