import { BOOKED_COINS, type LedgerClock } from '../../src/domain/money/ledger.ts';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { Mode } from '../../src/domain/values/ids.ts';
import { signedAmountOf } from '../../src/domain/money/money.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import {
  LEDGER_BALANCES_TABLE,
  LEDGER_BOOKS_TABLE,
  LEDGER_DAYS_TABLE,
  LEDGER_ENTRIES_TABLE,
  LEDGER_SUMS_TABLE,
  type BalanceRow,
  type DaysRow,
  type EntryRow,
  type ModeRow,
} from '../../projections/ledger/rows.ts';
import { ledger } from '../../projections/ledger/ledger.projection.ts';
import { MemoryReadModel, type StoredRow } from './memory-read-model.ts';
import { sessionIdOf, type HistoryEntry } from './random-history.ts';
import type { RowReader } from '../../src/ports/read-model/projection.ts';

/** The ledger projection over rows in memory, one event at a time, with every row it did not name refused. */
export class MemoryBooks {
  readonly tables = new Map<string, Map<string, StoredRow>>();
  /** Characters of all rows, each time that one is put. */
  writtenBytes = 0;
  #events = 0;

  /** Takes an event of a stream, at its own position. */
  take(stream: string, event: DomainEvent, atMs: number): StoredEvent<DomainEvent> {
    this.#events += 1;
    const id = `event-${this.#events}`;
    const metadata = { correlationId: 'test', actor: 'test', prev: '' };
    const stored = {
      stream,
      revision: this.#events,
      position: String(this.#events),
      id,
      version: 1,
      atMs,
      metadata,
      hash: '',
      event,
    };
    const named = new Set<string>();
    const read = ((table: string, key: string) => {
      if (!named.has(`${table}\0${key}`)) throw new Error(`${table} ${key} was read but not named`);
      return this.tables.get(table)?.get(key) ?? null;
    }) as RowReader;
    for (const { table, key } of ledger.needs(stored)) named.add(`${table}\0${key}`);
    for (const { table, key } of ledger.needsThen!(stored, read)) named.add(`${table}\0${key}`);
    for (const change of ledger.apply(stored, read)) {
      if (change.op !== 'put') throw new Error('the books only ever put rows');
      const rows = this.tables.get(change.table) ?? new Map<string, StoredRow>();
      const text = JSON.stringify(change.row);
      this.writtenBytes += text.length;
      this.tables.set(change.table, rows.set(change.key, JSON.parse(text) as StoredRow));
    }
    return stored;
  }

  takeEntry({ session, event, atMs }: HistoryEntry): StoredEvent<DomainEvent> {
    return this.take(sessionStream(sessionIdOf(session)), event, atMs);
  }

  /** The same rows behind the port. */
  readModel(): MemoryReadModel {
    const model = new MemoryReadModel();
    for (const [name, rows] of this.tables) model.tables.set(name, rows);
    return model;
  }

  rows<Type>(table: string): Type[] {
    return [...(this.tables.get(table)?.values() ?? [])] as unknown as Type[];
  }

  entries(mode: Mode): EntryRow[] {
    return this.rows<EntryRow>(LEDGER_ENTRIES_TABLE)
      .filter((entry) => entry.mode === mode)
      .sort((one, other) => one.number - other.number);
  }

  mode(mode: Mode): ModeRow | null {
    return (this.tables.get(LEDGER_BOOKS_TABLE)?.get(mode) as unknown as ModeRow | undefined) ?? null;
  }

  balances(): BalanceRow[] {
    return this.rows<BalanceRow>(LEDGER_BALANCES_TABLE);
  }

  /** Sum over all balances and over all lines, by mode, network and coin: each must be zero. */
  sums(): Map<string, bigint> {
    const sums = new Map<string, bigint>();
    const add = (what: string, row: { mode: string; network: string; coin: string }, units: bigint): void => {
      const key = `${what}/${row.mode}/${row.network}/${row.coin}`;
      if (!BOOKED_COINS.includes(row.coin)) throw new Error(`${row.coin} is not a coin of the books`);
      sums.set(key, (sums.get(key) ?? 0n) + units);
    };
    for (const row of this.balances()) add('balances', row, signedAmountOf(row.balance));
    for (const row of this.rows<{ mode: string; network: string; coin: string; sum: string }>(LEDGER_SUMS_TABLE))
      add('sums', row, signedAmountOf(row.sum));
    return sums;
  }

  /** What moved on every day of one balance, by a clock. */
  movedOnDays(balanceKey: string, clock: LedgerClock): Map<string, bigint> {
    const moved = new Map<string, bigint>();
    for (const [key, row] of this.tables.get(LEDGER_DAYS_TABLE) ?? []) {
      if (!key.startsWith(`${balanceKey}/`)) continue;
      const month = key.slice(balanceKey.length + 1);
      for (const [day, amounts] of Object.entries((row as unknown as DaysRow).days))
        moved.set(`${month}-${day}`, signedAmountOf(amounts[clock === 'recorded' ? 0 : 1]));
    }
    return moved;
  }
}
