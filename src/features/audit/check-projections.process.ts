import { setImmediate as breathe } from 'node:timers/promises';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { Change, ReadModel, Row } from '../../ports/read-model/read-model.ts';
import { projectBatch, projectionId, readEvent } from '../../runtime/projections/batch.ts';
import { Recurring } from '../../runtime/util/recurring.ts';
import { RowCache } from '../../runtime/projections/row-cache.ts';
import { REFUNDS_TABLE } from '../../../projections/sessions/refund-row.ts';
import { SESSIONS_TABLE } from '../../../projections/sessions/session-row.ts';
import { sessionView } from '../../../projections/sessions/session-view.projection.ts';
import { TRANSACTIONS_TABLE } from '../../../projections/sessions/transaction-row.ts';
import { must } from '../../domain/values/must.ts';

export interface CheckProjectionsDeps {
  readonly store: Pick<EventStore, 'readAll' | 'readStream'>;
  readonly readModel: Pick<ReadModel, 'getMany'>;
  /** Resolves once the read model contains everything written so far, or after a bounded wait. */
  readonly caughtUp: () => Promise<unknown>;
  /** Called once when the rows of a session begin to differ. */
  readonly onDrift: (drift: { readonly projection: string; readonly stream: string; readonly rows: number }) => void;
  readonly onError: (error: unknown) => void;
  /** Number of events examined per round. */
  readonly eventsPerRound?: number;
}

const EVERY_MS = 10_000;
const EVENTS_PER_ROUND = 1_000;
const COMPARED: ReadonlySet<string> = new Set([SESSIONS_TABLE, TRANSACTIONS_TABLE, REFUNDS_TABLE]);
/** Columns with a position in lists across sessions, which the stream of one session cannot tell. */
const PLACES: ReadonlySet<string> = new Set(['order', 'listedSec', 'createdSec']);
/** A session that changes during the comparison is compared again. */
const MAX_LOOKS = 3;

/**
 * Continuously walks the event log at a slow pace, replays each session's stream through the projection, and compares
 * the rows with those in the read model. Rows that differ are compared again in every round until they match.
 */
export class CheckProjections {
  readonly #deps: CheckProjectionsDeps;
  readonly #rounds: Recurring;
  readonly #drifting = new Map<string, number>();
  #after: string | null = null;

  constructor(deps: CheckProjectionsDeps) {
    this.#deps = deps;
    this.#rounds = new Recurring(() => this.round(), EVERY_MS, deps.onError);
  }

  start(): void {
    this.#rounds.start();
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  /** Number of rows known to differ, per projection, zero included. */
  drift(): readonly { readonly projection: string; readonly rows: number }[] {
    return [
      {
        projection: projectionId(sessionView),
        rows: [...this.#drifting.values()].reduce((sum, rows) => sum + rows, 0),
      },
    ];
  }

  /** Checks one section of the event log and everything that differed before. */
  async round(): Promise<void> {
    const { store, eventsPerRound: limit = EVENTS_PER_ROUND } = this.#deps;
    const page = await store.readAll({ after: this.#after, limit, streamPrefixes: ['session-'] });
    this.#after = page.length < limit ? null : must(page.at(-1)).position;
    const created = page.filter(({ type }) => type === 'SessionCreated').map(({ stream }) => stream);
    for (const stream of new Set([...this.#drifting.keys(), ...created])) {
      if (this.#rounds.isClosed) return;
      this.#note(stream, await this.#differing(stream));
      await breathe();
    }
  }

  #note(stream: string, rows: number): void {
    const isNew = rows > 0 && !this.#drifting.has(stream);
    if (rows === 0) this.#drifting.delete(stream);
    else this.#drifting.set(stream, rows);
    if (isNew) this.#deps.onDrift({ projection: projectionId(sessionView), stream, rows });
  }

  /** Number of the session's rows that differ from what its stream yields. */
  async #differing(stream: string): Promise<number> {
    const { store, readModel, caughtUp } = this.#deps;
    for (let look = 1; ; look += 1) {
      const events = await store.readStream(stream);
      const expected = await replay(events);
      if (expected === null) return 0;
      if (look > 1) await caughtUp();
      let rows = 0;
      for (const [table, byKey] of expected) {
        const stored = await readModel.getMany(table, [...byKey.keys()]);
        [...byKey.values()].forEach((row, index) => (rows += same(row, stored[index] ?? null) ? 0 : 1));
      }
      if (rows === 0) return 0;
      const isAtRest = (await store.readStream(stream, { from: events.length, limit: 1 })).length === 0;
      if (look >= MAX_LOOKS) return isAtRest ? rows : 0;
    }
  }
}

const NO_ROWS: Pick<ReadModel, 'getMany'> = { getMany: async (_table, keys) => keys.map(() => null) };

/**
 * The rows that a stream yields by itself, by table and key. Null if it contains unreadable events, which raise their
 * own alarm.
 */
async function replay(events: readonly RecordedEvent[]): Promise<Map<string, Map<string, Row>> | null> {
  const read = events.map(readEvent);
  if (read.some(({ stored }) => stored === null)) return null;
  const { changes, parked } = await projectBatch(sessionView, read, {
    readModel: NO_ROWS,
    cache: new RowCache(1),
    nowMs: 0,
  });
  return parked.length > 0 ? null : rowsOf(changes);
}

function rowsOf(changes: readonly Change[]): Map<string, Map<string, Row>> {
  const rows = new Map<string, Map<string, Row>>();
  for (const change of changes) {
    if (change.op !== 'put' || !COMPARED.has(change.table)) continue;
    rows.set(change.table, (rows.get(change.table) ?? new Map<string, Row>()).set(change.key, change.row));
  }
  return rows;
}

const same = (expected: Row, stored: Row | null): boolean => stored !== null && textOf(expected) === textOf(stored);

/** A canonical text of the row, independent of field order. */
const textOf = (row: Row): string =>
  JSON.stringify(
    Object.entries(row)
      .filter(([name]) => !PLACES.has(name))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
