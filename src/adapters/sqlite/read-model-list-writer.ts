import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { blockOf, blocksFromBytes, blocksToBytes, leafOf, LEAVES_PER_BLOCK, MAX_ORDER } from './read-model-ranks.ts';

interface List {
  readonly id: number;
  total: number;
  blocks: Uint32Array;
  isDirty: boolean;
  /** The second noted last, with its first place: most members follow in the same one. */
  second: number;
  secondFrom: number;
}

interface Leaves {
  readonly list: List;
  readonly block: number;
  readonly counts: Uint8Array;
  isDirty: boolean;
}

const MAX_LISTS = 10_000;
const MAX_LEAVES = 10_000;

/** Keeps members and the counts above them. Counts are changed in memory and written by `flush`, once a transaction. */
export class ListWriter {
  readonly #lists = new Map<string, List>();
  readonly #leaves = new Map<string, Leaves>();
  readonly #dirtyLists = new Set<List>();
  readonly #dirtyLeaves = new Set<Leaves>();
  readonly #sql: Record<
    'find' | 'make' | 'save' | 'insert' | 'remove' | 'note' | 'findLeaves' | 'saveLeaves' | 'dropLeaves' | 'dropList' | 'names' | 'dropped',
    StatementSync
  >;

  constructor(db: DatabaseSync) {
    this.#sql = {
      find: db.prepare('SELECT id, total, blocks FROM lists WHERE name = ?'),
      make: db.prepare("INSERT INTO lists (name, total, blocks) VALUES (?, 0, x'')"),
      save: db.prepare('UPDATE lists SET total = ?, blocks = ? WHERE id = ?'),
      insert: db.prepare('INSERT OR IGNORE INTO list_members (list, place, member, row_id) VALUES (?, ?, ?, ?)'),
      remove: db.prepare('DELETE FROM list_members WHERE list = ? AND place = ? AND member = ?'),
      note: db.prepare(
        `INSERT INTO list_seconds (list, at_sec, first_place) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET first_place = min(first_place, excluded.first_place)`,
      ),
      findLeaves: db.prepare('SELECT counts FROM list_leaves WHERE list = ? AND block = ?'),
      saveLeaves: db.prepare('INSERT INTO list_leaves (list, block, counts) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET counts = excluded.counts'),
      dropLeaves: db.prepare('DELETE FROM list_leaves WHERE list = ? AND block = ?'),
      names: db.prepare('SELECT name, id FROM lists WHERE name >= ? AND substr(name, 1, length(?)) = ?'),
      dropList: db.prepare('DELETE FROM lists WHERE id = ?'),
      dropped: db.prepare('INSERT INTO dropped_lists (list) VALUES (?)'),
    };
  }

  /** `rowId`: the row of the member, when it is known. */
  enlist(name: string, member: string, order: number, atSec: number, rowId: number | null): void {
    if (!Number.isInteger(order) || order < 0 || order > MAX_ORDER) throw new RangeError(`not an order: ${order}`);
    const list = this.#list(name) ?? this.#make(name);
    if (this.#sql.insert.run(list.id, order, member, rowId).changes === 0) return;
    this.#count(list, order, 1);
    if (list.second === atSec && list.secondFrom <= order) return;
    this.#sql.note.run(list.id, atSec, order);
    list.second = atSec;
    list.secondFrom = order;
  }

  delist(name: string, member: string, order: number): void {
    const list = this.#list(name);
    if (list && this.#sql.remove.run(list.id, order, member).changes === 1) this.#count(list, order, -1);
  }

  /** Forgets every list of the prefix; their members are swept later. */
  drop(prefix: string): void {
    for (const { name, id } of this.#sql.names.all(prefix, prefix, prefix) as { name: string; id: number }[]) {
      this.#sql.dropList.run(id);
      this.#sql.dropped.run(id);
      this.#lists.delete(name);
    }
    this.#leaves.clear();
  }

  /** Writes the counts; to be called before the commit. */
  flush(): void {
    for (const list of this.#dirtyLists) {
      this.#sql.save.run(list.total, blocksToBytes(list.blocks), list.id);
      list.isDirty = false;
    }
    for (const leaves of this.#dirtyLeaves) {
      if (leaves.list.blocks[leaves.block] === 0) this.#sql.dropLeaves.run(leaves.list.id, leaves.block);
      else this.#sql.saveLeaves.run(leaves.list.id, leaves.block, withoutTail(leaves.counts));
      leaves.isDirty = false;
    }
    this.#dirtyLists.clear();
    this.#dirtyLeaves.clear();
    if (this.#lists.size > MAX_LISTS || this.#leaves.size > MAX_LEAVES) this.forget();
  }

  /** Drops what is in memory, after a rollback. */
  forget(): void {
    for (const cache of [this.#lists, this.#leaves, this.#dirtyLists, this.#dirtyLeaves]) cache.clear();
  }

  #count(list: List, order: number, step: 1 | -1): void {
    const block = blockOf(order);
    if (block >= list.blocks.length) {
      const grown = new Uint32Array(block + 1);
      grown.set(list.blocks);
      list.blocks = grown;
    }
    const leaves = this.#leavesOf(list, block);
    list.total += step;
    list.blocks[block]! += step;
    leaves.counts[leafOf(order)]! += step;
    if (!list.isDirty) this.#dirtyLists.add(list);
    if (!leaves.isDirty) this.#dirtyLeaves.add(leaves);
    list.isDirty = true;
    leaves.isDirty = true;
  }

  #list(name: string): List | null {
    const cached = this.#lists.get(name);
    if (cached) return cached;
    const row = this.#sql.find.get(name) as { id: number; total: number; blocks: Uint8Array } | undefined;
    return row ? this.#keep(name, row.id, row.total, blocksFromBytes(row.blocks)) : null;
  }

  #make(name: string): List {
    return this.#keep(name, Number(this.#sql.make.run(name).lastInsertRowid), 0, new Uint32Array(0));
  }

  #keep(name: string, id: number, total: number, blocks: Uint32Array): List {
    const list: List = { id, total, blocks, isDirty: false, second: -1, secondFrom: 0 };
    this.#lists.set(name, list);
    return list;
  }

  #leavesOf(list: List, block: number): Leaves {
    const key = `${list.id}:${block}`;
    const cached = this.#leaves.get(key);
    if (cached) return cached;
    const counts = new Uint8Array(LEAVES_PER_BLOCK);
    const row = list.blocks[block]! > 0 ? (this.#sql.findLeaves.get(list.id, block) as { counts: Uint8Array } | undefined) : undefined;
    if (row) counts.set(row.counts);
    const leaves: Leaves = { list, block, counts, isDirty: false };
    this.#leaves.set(key, leaves);
    return leaves;
  }
}

/** Lists of few members are most of the lists: what is empty at the end is not written. */
function withoutTail(counts: Uint8Array): Uint8Array {
  let end = counts.length;
  while (end > 0 && counts[end - 1] === 0) end -= 1;
  return counts.subarray(0, end);
}
