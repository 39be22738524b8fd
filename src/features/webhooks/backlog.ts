import type { QueueId } from '../../domain/notifications/delivery-ids.ts';
import type { NotificationId } from '../../domain/values/ids.ts';
import type { Position } from '../../ports/event-log/event-store.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { EndpointFailuresRow } from '../../../projections/webhooks/work.projection.ts';
import { putRow, type Change, type ReadModel, type Row, type Table } from '../../ports/read-model/read-model.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';

/** Name of the checkpoint. It is written together with the tables below. */
export const DELIVERIES_CHECKPOINT = 'deliver-webhooks';
const STATE: Table<{ readonly seq: number }> = 'webhook-process';
/** Deliveries that need an attempt soon, by queue in log order. */
const QUEUE: Table<EntryRow> = 'webhook-queue';
/** Deliveries whose next attempt is far off, by time. */
const LATER: Table<EntryRow> = 'webhook-later';
/** Recent results of endpoints (see `EndpointHealth`). */
const HEALTH: Table<EndpointFailuresRow> = 'webhook-health';
/** The last entry that a queue sends slowly after its endpoint came back. */
const PACE: Table<{ readonly queue: QueueId; readonly throughSeq: number }> = 'webhook-pace';
/** Events that could not be turned into notifications. */
const PARKED: Table<ParkedRow> = 'webhook-parked';

const PAD = 16;
const pad = (value: number): string => String(Math.max(0, Math.floor(value))).padStart(PAD, '0');
const MAX_DIRTY = 2_000;

type EntryRow = Omit<BacklogEntry, 'ref'>;

/** An event that may be a notification but could not be read. */
interface ParkedRow {
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
}

export interface RowRef<Kept extends object = Row> {
  readonly table: Table<Kept>;
  readonly key: string;
}

/** A delivery that may need an attempt; its own stream decides. */
export interface BacklogEntry {
  readonly ref: RowRef;
  readonly id: NotificationId;
  readonly queue: QueueId;
  readonly sessionId: string;
  readonly seq: number;
}

/**
 * The durable to-do list of the delivery process, written together with its checkpoint. It contains at least every
 * delivery that needs an attempt as of the checkpoint, and possibly more, because the delivery's stream decides. It
 * therefore need not be written before an attempt, and most deliveries are done before they would be written at all.
 */
export class Backlog {
  readonly #readModel: ReadModel;
  readonly #onDirty: () => void;
  #dirty = new Map<string, Change>();
  readonly #flushes = new InTurn();
  #flushed: Position | null = null;
  #seq = 0;

  /** `onDirty` is called when there is something to flush. */
  constructor(readModel: ReadModel, onDirty: () => void) {
    this.#readModel = readModel;
    this.#onDirty = onDirty;
  }

  /** Where to resume the event log; null for the beginning. */
  async open(): Promise<Position | null> {
    const checkpoint = await this.#readModel.checkpoint(DELIVERIES_CHECKPOINT);
    const state = await this.#readModel.get(STATE, 'state');
    this.#seq = state?.seq ?? 0;
    this.#flushed = checkpoint;
    return checkpoint;
  }

  /** Discards all entries and the checkpoint. */
  async clear(): Promise<void> {
    await this.#readModel.clear({
      projection: DELIVERIES_CHECKPOINT,
      tables: [STATE, QUEUE, LATER, HEALTH, PACE, PARKED],
      lists: [],
    });
    this.#seq = 0;
    this.#flushed = null;
  }

  get lastSeq(): number {
    return this.#seq;
  }

  get isCrowded(): boolean {
    return this.#dirty.size >= MAX_DIRTY;
  }

  /** Adds a delivery that needs an attempt soon. */
  enqueue(id: NotificationId, queue: QueueId, sessionId: string): BacklogEntry {
    this.#seq += 1;
    return this.#put({ table: QUEUE, key: `${queue}:${pad(this.#seq)}` }, { id, queue, sessionId, seq: this.#seq });
  }

  /** Moves a delivery to the time of its next attempt. `from`: null if it had no row. */
  postpone(entry: EntryRow, from: RowRef | null, dueAtMs: number): BacklogEntry {
    if (from) this.remove(from);
    return this.#put(
      { table: LATER, key: `${pad(dueAtMs)}:${entry.id}` },
      { id: entry.id, queue: entry.queue, sessionId: entry.sessionId, seq: entry.seq },
    );
  }

  remove(ref: RowRef): void {
    const name = nameOf(ref);
    // A row that was never written need not be deleted.
    if (this.#dirty.get(name)?.op === 'put') this.#dirty.delete(name);
    else this.#change(name, { op: 'delete', ...ref });
  }

  /** Flushed entries of one queue after `afterSeq`, oldest first. */
  async of(queue: QueueId, afterSeq: number, limit: number): Promise<BacklogEntry[]> {
    const rows = await this.#readModel.scan(QUEUE, { afterKey: `${queue}:${pad(afterSeq)}`, limit });
    return rows.map((row) => entryOf(QUEUE, row)).filter((entry) => entry.queue === queue);
  }

  /** Every queue with entries, skipping from one to the next. */
  async queues(): Promise<QueueId[]> {
    const queues: QueueId[] = [];
    for (let afterKey = ''; ;) {
      const [row] = await this.#readModel.scan(QUEUE, { afterKey, limit: 1 });
      if (!row) return queues;
      const { queue } = entryOf(QUEUE, row);
      queues.push(queue);
      // ";" follows ":", so this is after every entry of the queue.
      afterKey = `${queue};`;
    }
  }

  /** The earliest postponed entries with their times. */
  async later(limit: number): Promise<(BacklogEntry & { readonly dueAtMs: number })[]> {
    const rows = await this.#readModel.scan(LATER, { afterKey: '', limit });
    return rows.map((row) => ({ ...entryOf(LATER, row), dueAtMs: Number(row.key.slice(0, PAD)) }));
  }

  async health(): Promise<{ queue: QueueId; row: EndpointFailuresRow }[]> {
    return (await this.#all(HEALTH)).map(({ row }) => ({ queue: row.queue, row }));
  }

  /** By queue: the last entry to send slowly. */
  async paces(): Promise<Map<QueueId, number>> {
    return new Map((await this.#all(PACE)).map(({ row }) => [row.queue, row.throughSeq]));
  }

  /** Null once the last such entry is gone. */
  putPace(queue: QueueId, throughSeq: number | null): void {
    this.#replace({ table: PACE, key: queue }, throughSeq === null ? null : { queue, throughSeq });
  }

  async parked(): Promise<{ position: Position; stream: string; revision: number }[]> {
    return (await this.#all(PARKED)).map(({ key, row }) => ({
      position: key,
      stream: row.stream,
      revision: row.revision,
    }));
  }

  /** The event turned out to be readable. */
  unpark(position: Position): void {
    this.#replace({ table: PARKED, key: position }, null);
  }

  putHealth(queue: QueueId, row: EndpointFailuresRow | null): void {
    this.#replace({ table: HEALTH, key: queue }, row);
  }

  /** Keeps an unreadable event for a person to examine. */
  park(position: Position, row: ParkedRow): void {
    this.#replace({ table: PARKED, key: position }, row);
  }

  /**
   * Writes changes together with the position up to which the event log was handled. False if there is no such position
   * yet, so that nothing could be written.
   */
  async flush(position: Position | null): Promise<boolean> {
    await this.#flushes.run(() => this.#write(position));
    return position !== null || this.#dirty.size === 0;
  }

  async #write(position: Position | null): Promise<void> {
    if (position === null || (this.#dirty.size === 0 && position === this.#flushed)) return;
    const taken = this.#dirty;
    this.#dirty = new Map();
    const state = putRow(STATE, 'state', { seq: this.#seq });
    try {
      await this.#readModel.apply(DELIVERIES_CHECKPOINT, [...taken.values(), state], position);
      this.#flushed = position;
    } catch (error) {
      this.#dirty = new Map([...taken, ...this.#dirty]);
      throw error;
    }
  }

  async #all<Kept extends object>(table: Table<Kept>): Promise<{ key: string; row: Kept }[]> {
    const found: { key: string; row: Kept }[] = [];
    for await (const page of rowPages(this.#readModel, table)) found.push(...page);
    return found;
  }

  #replace<Kept extends object>(ref: RowRef<Kept>, row: Kept | null): void {
    this.#change(nameOf(ref), row === null ? { op: 'delete', ...ref } : putRow(ref.table, ref.key, row));
  }

  #change(name: string, change: Change): void {
    this.#dirty.set(name, change);
    if (this.#dirty.size === 1) this.#onDirty();
  }

  #put(ref: RowRef<EntryRow>, row: EntryRow): BacklogEntry {
    this.#change(nameOf(ref), putRow(ref.table, ref.key, row));
    return entryOf(ref.table, { key: ref.key, row });
  }
}

const nameOf = ({ table, key }: RowRef): string => `${table} ${key}`;

function entryOf(table: string, { key, row }: { key: string; row: EntryRow }): BacklogEntry {
  return {
    ref: { table, key },
    ...row,
  };
}
