import { NO_BITS } from './bits.ts';
import type { ListSet } from './list-set.ts';
import { NO_COUNTS } from './ranks.ts';

/** A list in memory, or an ordinal list, or both. */
export class List {
  readonly set: OpenSet;
  /** Within the set. */
  readonly name: string;
  /** The list that holds its members: itself, unless it is a view. */
  readonly ordinalList: List;
  /** Null until it is first written. */
  id: number | null = null;
  /** The last leaf that ever had a member; stored with the list. Empty in a view. */
  leaf: Leaf;
  /** The last chunk that ever had a member; not counted, and stored with the list. */
  chunk: Chunk;
  /** Number of members of each chunk before the last one, and of all of them. */
  counts: Uint16Array;
  counted = 0;
  isDirty = false;
  /** When it, or a view of it, was last used. */
  turn = 0;
  hasViews = false;

  constructor(set: OpenSet, name: string, ordinalList: List | null, leaf: number, chunk: number) {
    this.set = set;
    this.name = name;
    this.ordinalList = ordinalList ?? this;
    this.ordinalList.hasViews ||= ordinalList !== null;
    this.leaf = { number: leaf, lines: [] };
    this.chunk = { number: chunk, bits: NO_BITS, count: 0 };
    this.counts = chunk === 0 ? NO_COUNTS : new Uint16Array(chunk);
  }
}

export interface Leaf {
  readonly number: number;
  /** By place in the leaf. */
  lines: (string | undefined)[];
}

export interface Chunk {
  readonly number: number;
  bits: Uint8Array;
  count: number;
}

/** A set of lists in use. Leaves and chunks by key, without those in the rows of lists. */
export interface OpenSet {
  readonly tables: ListSet;
  readonly leaves: Map<number, Leaf>;
  readonly chunks: Map<number, Chunk>;
  readonly dirtyLeaves: Map<number, Leaf>;
  readonly dirtyChunks: Map<number, Chunk>;
}
