import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { SESSION_FORGET } from '../../../domain/events/operations-events.ts';
import type { SessionCreated } from '../../../domain/events/session-events.ts';
import type { MerchantId, Mode, SessionId } from '../../../domain/values/ids.ts';
import { OPERATOR_ACTS_STREAM } from '../../../domain/values/streams.ts';
import {
  StoreUnavailable,
  type EventStore,
  type RecordedEvent,
  type Subscription,
} from '../../../ports/event-log/event-store.ts';
import { type Change, type ReadModel, type Row, putRow, type Table } from '../../../ports/read-model/read-model.ts';
import { decodeEvent } from '../../../runtime/commands/codec.ts';
import type { PersonalData } from '../../shared/personal-data.ts';
import { must } from '../../../domain/values/must.ts';
import { within } from '../../../runtime/util/within.ts';

export interface MetadataOwner {
  readonly merchantId: MerchantId;
  readonly mode: Mode;
}

/** A session with the metadata, at its place among its merchant's sessions. */
export interface MetadataMatch {
  readonly sessionId: SessionId;
  readonly order: number;
  /** Its time in the list, Unix seconds. */
  readonly atSec: number;
}

export interface MetadataIndexDeps {
  readonly store: Pick<EventStore, 'subscribe' | 'head'>;
  readonly readModel: Pick<ReadModel, 'checkpoint' | 'apply' | 'getMany' | 'scan'>;
  readonly personal: Pick<PersonalData, 'open'>;
  /** Shared by all nodes and stable across restarts. */
  readonly key: Uint8Array;
  /** A session's personal data cannot be unsealed, so its metadata is not searchable. */
  readonly onUnreadable: (id: SessionId, error: unknown) => void;
  readonly timeoutMs?: number;
}

/** Number of a merchant's sessions in a mode, and the time of the newest. */
type Counted = { readonly next: number; readonly atSec: number };

const INDEX = 'session-metadata@1';
/** Sessions by key and value of a merchant, newest first: `scope/token/descending order`. */
const MATCHES_TABLE: Table<MetadataMatch> = 'session-metadata@1';
/** Rows to remove when a session is forgotten. */
const OF_SESSION_TABLE: Table<{ readonly keys: readonly string[] }> = 'session-metadata-of@1';
const COUNTERS_TABLE: Table<Counted> = 'session-metadata-counters@1';

const TIMEOUT_MS = 2_000;
const TOKEN_BYTES = 16;
const OPENED_AT_ONCE = 32;
/** Orders are stored as the difference from this number, so that ascending keys are sessions newest first. */
const TOP = 10 ** 15 - 1;

/**
 * Finds sessions by metadata. Metadata is personal data and sealed in the events, so projections cannot see it. Each
 * process that serves merchants unseals it and keeps keyed hashes among its look-ups. They reveal nothing without the
 * key and are removed when the session is forgotten.
 */
export class MetadataIndex {
  readonly #deps: MetadataIndexDeps;
  readonly #key: KeyObject;
  /** Counters by scope as last written. A redelivered batch numbers its sessions as it did the first time. */
  readonly #counters = new Map<string, Counted>();
  #subscription: Subscription | null = null;

  constructor(deps: MetadataIndexDeps) {
    this.#deps = deps;
    this.#key = createSecretKey(deps.key);
  }

  async start(): Promise<void> {
    const { store, readModel } = this.#deps;
    this.#subscription = store.subscribe({
      name: 'session-metadata',
      after: await readModel.checkpoint(INDEX),
      streamPrefixes: ['session-', OPERATOR_ACTS_STREAM],
      onEvents: (events) => this.#take(events),
    });
  }

  async close(): Promise<void> {
    await this.#subscription?.close();
  }

  /**
   * Rejects with `StoreUnavailable` while the index lags behind the event log, because an incomplete answer would be
   * wrong.
   */
  async caughtUp(): Promise<void> {
    const head = await this.#deps.store.head();
    if (head === null) return;
    const reached = this.#subscription?.reached(head) ?? new Promise<never>(() => undefined);
    await within(this.#deps.timeoutMs ?? TIMEOUT_MS, reached, () => {
      throw new StoreUnavailable('the metadata index is being built');
    });
  }

  /**
   * Of the next `limit` sessions below an order that have the first pair of the metadata, those with all pairs, newest
   * first. `last`: the last session examined; null if there are no more.
   */
  async before(
    owner: MetadataOwner,
    metadata: Readonly<Record<string, string>>,
    { before, limit }: { readonly before: number | null; readonly limit: number },
  ): Promise<{ readonly matches: readonly MetadataMatch[]; readonly last: MetadataMatch | null }> {
    const [first, ...others] = Object.entries(metadata).map(([key, value]) => this.#prefix(owner, key, value));
    const rows = await this.#deps.readModel.scan(MATCHES_TABLE, {
      afterKey: before === null ? must(first) : must(first) + placeOf(before),
      limit,
    });
    const found = rows.filter(({ key }) => key.startsWith(must(first))).map(({ row }) => row);
    const last = found.length === limit ? must(found.at(-1)) : null;
    return { matches: await this.#withAll(found, others), last };
  }

  async #withAll(found: readonly MetadataMatch[], prefixes: readonly string[]): Promise<readonly MetadataMatch[]> {
    let matches = found;
    for (const prefix of prefixes) {
      const rows = await this.#deps.readModel.getMany(
        MATCHES_TABLE,
        matches.map(({ order }) => prefix + placeOf(order)),
      );
      matches = matches.filter((_, index) => rows[index] !== null);
    }
    return matches;
  }

  #prefix({ mode, merchantId }: MetadataOwner, key: string, value: string): string {
    const text = JSON.stringify(['session-metadata', mode, merchantId, key, value]);
    const token = createHmac('sha256', this.#key).update(text).digest().subarray(0, TOKEN_BYTES).toString('base64url');
    return `${mode}/${merchantId}/${token}/`;
  }

  async #take(events: readonly RecordedEvent[]): Promise<void> {
    const relevant = events
      .filter(({ type }) => type === 'SessionCreated' || type === 'OperatorActed')
      .map((event) => decodeEvent(event).event);
    const changes: Change[] = [];
    const counters = await this.#countersOf(
      relevant.flatMap((event) => (event.type === 'SessionCreated' ? scopeOf(event.data) : [])),
    );
    const kept = new Map<string, readonly string[]>();
    for (let from = 0; from < relevant.length; from += OPENED_AT_ONCE) {
      const some = relevant.slice(from, from + OPENED_AT_ONCE);
      const opened = await Promise.all(
        some.map((event) => (event.type === 'SessionCreated' ? this.#metadataOf(event.data) : Promise.resolve({}))),
      );
      for (const [index, event] of some.entries()) {
        if (event.type === 'SessionCreated')
          changes.push(...this.#added(event.data, must(opened[index]), counters, kept));
        else if (event.type === 'OperatorActed' && event.data.act === SESSION_FORGET)
          changes.push(...(await this.#removed(must(event.data.subject), kept)));
      }
    }
    for (const [scope, row] of counters) changes.push(putRow(COUNTERS_TABLE, scope, row));
    // Events without an effect here are read again after a restart instead of being recorded.
    if (changes.length === 0) return;
    await this.#deps.readModel.apply(INDEX, changes, must(events.at(-1)).position);
    for (const [scope, counted] of counters) this.#counters.set(scope, counted);
  }

  /** Sessions are counted like in their list, so that both assign the same place. */
  async #countersOf(scopes: readonly string[]): Promise<Map<string, Counted>> {
    const unknown = [...new Set(scopes)].filter((scope) => !this.#counters.has(scope));
    const rows = await this.#deps.readModel.getMany(COUNTERS_TABLE, unknown);
    for (const [index, scope] of unknown.entries()) this.#counters.set(scope, rows[index] ?? { next: 0, atSec: 0 });
    return new Map(scopes.map((scope) => [scope, must(this.#counters.get(scope))]));
  }

  async #metadataOf({ sessionId, personal }: SessionCreated['data']): Promise<Readonly<Record<string, string>>> {
    try {
      return (await this.#deps.personal.open(sessionId, personal))?.metadata ?? {};
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      this.#deps.onUnreadable(sessionId, error);
      return {};
    }
  }

  #added(
    data: SessionCreated['data'],
    metadata: Readonly<Record<string, string>>,
    counters: Map<string, Counted>,
    kept: Map<string, readonly string[]>,
  ): Change[] {
    const { sessionId, createdAtSec } = data;
    const { next: order, atSec: lastSec } = must(counters.get(scopeOf(data)));
    const atSec = Math.max(lastSec, createdAtSec);
    counters.set(scopeOf(data), { next: order + 1, atSec });
    const keys = Object.entries(metadata).map(([key, value]) => this.#prefix(data, key, value) + placeOf(order));
    if (keys.length === 0) return [];
    kept.set(sessionId, keys);
    const row: Row = { sessionId, order, atSec };
    return [...keys.map((key) => putRow(MATCHES_TABLE, key, row)), putRow(OF_SESSION_TABLE, sessionId, { keys })];
  }

  async #removed(sessionId: string, kept: Map<string, readonly string[]>): Promise<Change[]> {
    const [row] = await this.#deps.readModel.getMany(OF_SESSION_TABLE, [sessionId]);
    const keys = kept.get(sessionId) ?? row?.keys ?? [];
    kept.delete(sessionId);
    return [
      ...keys.map((key) => ({ op: 'delete', table: MATCHES_TABLE, key }) as const),
      { op: 'delete', table: OF_SESSION_TABLE, key: sessionId },
    ];
  }
}

const scopeOf = ({ mode, merchantId }: MetadataOwner): string => `${mode}/${merchantId}`;

const placeOf = (order: number): string => String(TOP - order).padStart(String(TOP).length, '0');
