import type { AuditAnchor, AuditHead } from '../../ports/event-log/audit.ts';
import { DamagedEvent, type EventStore, type Position, type RecordedEvent } from '../../ports/event-log/event-store.ts';
import { HeadCheck, headOfAnchor, headOfEvent, type ExpectedHead } from './checkpoint-check.ts';
import { parseVerifierKey, type VerifierKey } from './checkpoint-note.ts';
import { MerkleLog, TILE_LEAVES } from './log.ts';
import { HASH_BYTES, leafHash, rootOfLeaves } from './tree.ts';
import { StreamEnds } from './stream-ends.ts';
import { must } from '../../domain/values/must.ts';
import { dataOf } from '../commands/codec.ts';

/** The history was altered; the message says what and where. */
export class HistoryDiffers extends Error {
  override readonly name = 'HistoryDiffers';
}

/** The stored part of a complete tile: enough to start in the middle of the log. */
export interface KeptTile {
  /** Base64: the node above its leaves. */
  readonly node: string;
  /** Position of its last event. */
  readonly through: Position;
}

export interface StoreAuditOptions {
  /** Recomputes each event's hash when reading it. */
  readonly store: Pick<EventStore, 'readAll' | 'readStream'>;
  /** Whether one position of this store comes after another. */
  readonly isAfter: (one: Position, other: Position) => boolean;
  /** Null skips signatures. */
  readonly verifierKey: string | null;
  /** Recorded heads that must match, in addition to the checkpoints in the log. */
  readonly anchors: readonly AuditAnchor[];
}

interface LoadedTile {
  readonly positions: readonly Position[];
  readonly leaves: Buffer;
}

const PAGE = 512;
const LOADED_TILES = 64;

/**
 * The Merkle tree over a log whose positions have gaps: events are numbered in reading order. Memory holds 32 bytes and
 * one position for every 256 events; leaves are read back from the log when a proof needs them.
 */
export class StoreAudit {
  readonly #store: StoreAuditOptions['store'];
  readonly #isAfter: StoreAuditOptions['isAfter'];
  readonly #key: VerifierKey | null;
  readonly #expected: ExpectedHead[];
  readonly #signed: number;
  readonly #tree = new MerkleLog((from, to) => this.#leaves(from, to));
  readonly #heads = new HeadCheck();
  readonly #streams: StreamEnds;
  /** Position of the last event of each complete tile. */
  readonly #tileEnds: Position[] = [];
  readonly #openPositions: Position[] = [];
  readonly #loaded = new Map<number, LoadedTile>();
  /** Leaves of signed checkpoints, ascending; only of events that were read here. */
  readonly #checkpointLeaves: number[] = [];
  #position: Position | null = null;

  constructor({ store, isAfter, verifierKey, anchors }: StoreAuditOptions) {
    this.#store = store;
    this.#isAfter = isAfter;
    this.#key = verifierKey === null ? null : parseVerifierKey(verifierKey);
    this.#expected = anchors.map(headOfAnchor).sort((one, other) => one.size - other.size);
    this.#signed = this.#expected.at(-1)?.size ?? 0;
    this.#streams = new StreamEnds(store);
  }

  /** Number of events added. */
  get size(): number {
    return this.#tree.size;
  }

  /** Number of complete tiles. */
  get tiles(): number {
    return this.#tileEnds.length;
  }

  /** Complete tiles from the given one on. */
  tilesFrom(index: number): KeptTile[] {
    return this.#tileEnds
      .slice(index)
      .map((through, offset) => ({ node: this.#tree.tile(index + offset).toString('base64'), through }));
  }

  /** Starts after stored tiles. An anchor at or after their end must prove them. */
  adopt(tiles: readonly KeptTile[]): void {
    for (const { node, through } of tiles) {
      this.#tree.appendTile(Buffer.from(node, 'base64'));
      this.#tileEnds.push(through);
      this.#position = through;
    }
  }

  /**
   * Adds the next page of the log and returns the number of its events, 0 at the end. Rejects with `HistoryDiffers`,
   * and with the store's errors. Calls must be sequential.
   */
  async take(): Promise<number> {
    const events = await this.#read(this.#position, PAGE);
    for (const event of events) {
      const place = this.#tree.size + 1;
      const fault = await this.#streams.fault(event, place > this.#signed);
      if (fault !== null)
        throw new HistoryDiffers(
          `event ${place} of the event log (event ${event.revision} of stream ${event.stream}): ${fault}`,
        );
      if (event.type === 'CheckpointSigned') await this.#checkCheckpoint(event, place);
      // No await from here on: after an interrupted page, reading resumes after its last complete event.
      this.#append(event);
      this.#checkExpected();
    }
    return events.length;
  }

  /** Throws `HistoryDiffers` if more was signed than exists. */
  assertReachesSigned(): void {
    const ahead = this.#expected.at(-1);
    if (ahead)
      throw new HistoryDiffers(
        `the event log ends after ${this.size} events, but ${ahead.size} were signed (${ahead.source}): events were lost`,
      );
  }

  head(since: number): AuditHead {
    const checkpoints = this.#checkpointLeaves.length - lowerBound(this.#checkpointLeaves, (leaf) => leaf < since);
    const rootHash = this.#tree.rootAt(this.size).toString('base64');
    return {
      size: this.size,
      rootHash,
      position: this.#position,
      othersSince: Math.max(0, this.size - since) - checkpoints,
    };
  }

  /** Throws `RangeError` if the tree never had that size. */
  rootAt(size: number): Promise<Buffer> {
    return this.#withTiles([size - 1], () => this.#tree.rootAt(size));
  }

  /** Throws `RangeError` unless `leaf < size` and the tree has reached `size`. */
  inclusionProof(leaf: number, size: number): Promise<Buffer[]> {
    return this.#withTiles([leaf, size - 1], () => this.#tree.inclusionProof(leaf, size));
  }

  /** Throws `RangeError` unless `0 < first <= second` and the tree has reached `second`. */
  consistencyProof(first: number, second: number): Promise<Buffer[]> {
    return this.#withTiles([first - 1, second - 1], () => this.#tree.consistencyProof(first, second));
  }

  /** The index of an event in log order, from 0; the tree's size or more if the tree has not reached it. */
  async leafOf(position: Position): Promise<number> {
    const tile = lowerBound(this.#tileEnds, (end) => this.#isAfter(position, end));
    const index =
      tile < this.#tileEnds.length
        ? (await this.#tile(tile)).positions.indexOf(position)
        : this.#openPositions.indexOf(position);
    if (index >= 0) return tile * TILE_LEAVES + index;
    if (this.#position !== null && !this.#isAfter(position, this.#position))
      throw new HistoryDiffers(`the event at ${position} is not in the log`);
    return Number.MAX_SAFE_INTEGER;
  }

  /** Rereads a complete tile, bypassing everything cached. Rejects with `HistoryDiffers` if it was altered. */
  async recheck(tile: number): Promise<void> {
    this.#loaded.delete(tile);
    await this.#tile(tile);
  }

  #append(event: RecordedEvent): void {
    this.#streams.take(event);
    this.#tree.append(leafHash(Buffer.from(event.hash, 'hex')));
    this.#position = event.position;
    this.#openPositions.push(event.position);
    if (event.type === 'CheckpointSigned') this.#checkpointLeaves.push(this.size - 1);
    if (this.size % TILE_LEAVES !== 0) return;
    this.#tileEnds.push(event.position);
    this.#openPositions.length = 0;
  }

  async #checkCheckpoint(event: RecordedEvent, place: number): Promise<void> {
    const head = headOfEvent(dataOf(event, 'CheckpointSigned'), this.#key);
    if ('fault' in head) throw new HistoryDiffers(`event ${place} of the event log is a checkpoint, but ${head.fault}`);
    if (head.size >= place)
      throw new HistoryDiffers(
        `event ${place} of the event log is a checkpoint of ${head.size} events: more than there were`,
      );
    this.#check(head, await this.rootAt(head.size));
  }

  #checkExpected(): void {
    while (this.#expected[0]?.size === this.size)
      this.#check(must(this.#expected.shift()), this.#tree.rootAt(this.size));
  }

  #check(head: ExpectedHead, root: Buffer): void {
    const difference = this.#heads.check(head, root);
    if (difference !== null) throw new HistoryDiffers(difference);
  }

  /** Runs a task of the tree once the complete tiles around these leaves are loaded. */
  async #withTiles<Value>(leaves: readonly number[], task: () => Value): Promise<Value> {
    const isMissing = (leaf: number): boolean =>
      leaf >= 0 && tileOf(leaf) < this.#tileEnds.length && !this.#loaded.has(tileOf(leaf));
    // The newest tile may become complete while another one is read.
    for (let leaf = leaves.find(isMissing); leaf !== undefined; leaf = leaves.find(isMissing))
      await this.#tile(tileOf(leaf));
    return task();
  }

  async #tile(index: number): Promise<LoadedTile> {
    const known = this.#loaded.get(index);
    if (known) return known;
    const events = await this.#read(this.#tileEnds[index - 1] ?? null, TILE_LEAVES);
    const leaves = Buffer.concat(events.map(({ hash }) => leafHash(Buffer.from(hash, 'hex'))));
    const [first, last] = [index * TILE_LEAVES + 1, (index + 1) * TILE_LEAVES];
    if (events.length < TILE_LEAVES || !rootOfLeaves(leaves).equals(this.#tree.tile(index)))
      throw new HistoryDiffers(
        `one of the events ${first} to ${last} of the event log is not what it was when this process read it before`,
      );
    const tile = { positions: events.map(({ position }) => position), leaves };
    if (this.#loaded.size >= LOADED_TILES) this.#loaded.delete(must(this.#loaded.keys().next().value));
    this.#loaded.set(index, tile);
    return tile;
  }

  async #read(after: Position | null, limit: number): Promise<RecordedEvent[]> {
    try {
      return await this.#store.readAll({ after, limit });
    } catch (error) {
      if (error instanceof DamagedEvent)
        throw new HistoryDiffers(`after event ${this.size} of the event log: ${error.message}`);
      throw error;
    }
  }

  #leaves(from: number, to: number): Buffer {
    const start = tileOf(from) * TILE_LEAVES;
    return must(this.#loaded.get(tileOf(from))).leaves.subarray((from - start) * HASH_BYTES, (to - start) * HASH_BYTES);
  }
}

const tileOf = (leaf: number): number => Math.floor(leaf / TILE_LEAVES);

/** Index of the first value for which the test fails; it holds for all values before. */
function lowerBound<Value>(values: readonly Value[], holds: (value: Value) => boolean): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(must(values[middle]))) low = middle + 1;
    else high = middle;
  }
  return low;
}
