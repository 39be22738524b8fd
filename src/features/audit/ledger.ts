import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { StoredEvent } from '../../domain/events/envelope.ts';
import type { Mode } from '../../domain/values/ids.ts';
import { signedAmountOf } from '../../domain/money/money.ts';
import { KeyedMemoryFailed, type KeyedMemory, type MakeKeyedMemory } from '../../ports/read-model/keyed-memory.ts';
import { isPut, type ReadModel, type Row, type RowChange, type Table } from '../../ports/read-model/read-model.ts';
import { ledger } from '../../../projections/ledger/ledger.projection.ts';
import {
  LEDGER_ADDRESSES_TABLE,
  LEDGER_ENTRIES_TABLE,
  LEDGER_PERIODS_TABLE,
  LEDGER_PLACES_TABLE,
  LEDGER_SUMS_TABLE,
  type EntryRow,
} from '../../../projections/ledger/rows.ts';
import { LEDGER_DEPOSITS_TABLE, LEDGER_SESSIONS_TABLE } from '../../../projections/ledger/session-books.ts';
import { LedgerBalances, type AccountBalance } from '../ledger/balances.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { must } from '../../domain/values/must.ts';

/** Tables that the books write and never read, which an audit can leave out. */
const WRITE_ONLY: ReadonlySet<string> = new Set([LEDGER_ENTRIES_TABLE, LEDGER_PLACES_TABLE]);

/**
 * Recomputes the books from the events alone: every entry must balance, and every closed period must state the figures
 * of the books.
 */
export class LedgerAgain {
  readonly #rows = new Map<string, Map<string, Row>>();
  /** Tables with a row per session, deposit or address. */
  readonly #large: ReadonlyMap<string, KeyedMemory<Row>>;
  readonly #balances: LedgerBalances;
  /**
   * Events of entries with lines. A closing names the last one of its month, even if entries of later months precede
   * the closing.
   */
  readonly #entries: KeyedMemory<true>;
  readonly #onEntry: (entry: EntryRow) => void;
  #closedMonths = 0;

  /** `onEntry` is called with every entry in booking order. */
  constructor(memory: MakeKeyedMemory, onEntry: (entry: EntryRow) => void = () => undefined) {
    this.#onEntry = onEntry;
    this.#large = new Map(
      [LEDGER_SESSIONS_TABLE, LEDGER_DEPOSITS_TABLE, LEDGER_ADDRESSES_TABLE].map((table) => [table, memory<Row>()]),
    );
    this.#entries = memory<true>();
    this.#balances = new LedgerBalances(new RowsInMemory(this.#rows));
  }

  /** Number of closed months whose figures were compared. */
  get closedMonths(): number {
    return this.#closedMonths;
  }

  /** Current balances that are not zero. */
  balances(mode: Mode): Promise<AccountBalance[]> {
    return this.#balances.balances(mode, { day: null, clock: 'recorded' });
  }

  close(): void {
    for (const rows of this.#large.values()) rows.close();
    this.#entries.close();
  }

  /** Why the event contradicts the books; null if it does not. */
  async take(stored: StoredEvent<DomainEvent>): Promise<string | null> {
    if (!ledger.streamPrefixes.some((prefix) => stored.stream.startsWith(prefix))) return null;
    // A closing covers what was booked before it.
    const figures =
      stored.event.type === 'PeriodClosed'
        ? await this.#balances.figures(stored.event.data.mode, stored.event.data.period)
        : null;
    try {
      let isSealed = false;
      for (const change of ledger.apply(stored, (table, key) => this.#read(table, key))) {
        if (change.op !== 'put') continue;
        isSealed ||= change.table === LEDGER_PERIODS_TABLE;
        const fault =
          this.#put(change) ??
          (change.table === LEDGER_PERIODS_TABLE ? this.#periodFault(stored.event, figures) : null);
        if (fault !== null) return fault;
      }
      return isSealed ? null : this.#overtakenFault(stored.event);
    } catch (error) {
      if (error instanceof KeyedMemoryFailed) throw error;
      return `it cannot be booked: ${messageOf(error)}`;
    }
  }

  #read<Kept extends object>(table: Table<Kept>, key: string): Kept | null;
  #read(table: string, key: string): Row | null {
    return (this.#large.get(table) ?? this.#rows.get(table))?.get(key) ?? null;
  }

  #put(change: Extract<RowChange, { op: 'put' }>): string | null {
    if (isPut(LEDGER_ENTRIES_TABLE, change)) this.#take(change.row);
    const { table, key, row } = change;
    if (WRITE_ONLY.has(table)) return null;
    const large = this.#large.get(table);
    if (large) {
      large.set(key, row);
      return null;
    }
    const rows = this.#rows.get(table) ?? new Map<string, Row>();
    this.#rows.set(table, rows.set(key, row));
    if (!isPut(LEDGER_SUMS_TABLE, change)) return null;
    const { sum } = change.row;
    return signedAmountOf(sum) === 0n ? null : `the books of ${key} no longer balance: they are off by ${sum}`;
  }

  #take(entry: EntryRow): void {
    if (entry.lines.length > 0) this.#entries.set(entry.id, true);
    this.#onEntry(entry);
  }

  /** A closing that a late fact overtook seals nothing, but the books must have held what it names just before. */
  #overtakenFault(event: DomainEvent): string | null {
    if (event.type !== 'PeriodClosed') return null;
    const { period, throughPosition } = event.data;
    if (throughPosition === '' || this.#entries.get(throughPosition) === true) return null;
    return `the closing of ${period} names an event that is not in the books: ${throughPosition}`;
  }

  #periodFault(event: DomainEvent, figures: Readonly<Record<string, string>> | null): string | null {
    if (event.type !== 'PeriodClosed' || figures === null) return null;
    const { period, balances } = event.data;
    this.#closedMonths += 1;
    const wrong = [...new Set([...Object.keys(figures), ...Object.keys(balances)])].find(
      (key) => figures[key] !== balances[key],
    );
    return wrong === undefined
      ? null
      : `the closed period ${period} says ${balances[wrong] ?? 'nothing'} for ${wrong}, the events add up to ${figures[wrong] ?? 'nothing'}`;
  }
}

/** The subset of a read model that queries on the books need. */
class RowsInMemory implements Pick<ReadModel, 'get' | 'getMany' | 'scan'> {
  readonly #tables: ReadonlyMap<string, ReadonlyMap<string, Row>>;

  constructor(tables: ReadonlyMap<string, ReadonlyMap<string, Row>>) {
    this.#tables = tables;
  }

  async get<Kept extends object = Row>(table: Table<Kept>, key: string): Promise<Kept | null> {
    return this.#row(table, key);
  }

  async getMany<Kept extends object = Row>(table: Table<Kept>, keys: readonly string[]): Promise<(Kept | null)[]> {
    return keys.map((key) => this.#row(table, key));
  }

  #row<Kept extends object>(table: Table<Kept>, key: string): Kept | null;
  #row(table: string, key: string): Row | null {
    return this.#tables.get(table)?.get(key) ?? null;
  }

  async scan<Kept extends object = Row>(
    table: Table<Kept>,
    { afterKey = '', limit }: { readonly afterKey?: string; readonly limit: number },
  ): Promise<{ key: string; row: Kept }[]> {
    const keys = [...(this.#tables.get(table)?.keys() ?? [])].filter((key) => key > afterKey).sort();
    return keys.slice(0, limit).map((key) => ({ key, row: must(this.#row(table, key)) }));
  }
}
