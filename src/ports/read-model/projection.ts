import type { StoredEvent } from '../../domain/events/envelope.ts';
import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { Row, RowChange, Table } from './read-model.ts';

export interface RowRef {
  readonly table: string;
  readonly key: string;
  /** The event is the first that can write the row, so there is nothing to read. */
  readonly isNew?: true;
}

/** A row's place, shared by several lists, under the row's key. */
export interface ListPlace {
  readonly lists: readonly string[];
  readonly order: number;
  readonly atSec: number;
}

/**
 * Reads rows including all changes so far, also those of this batch. Only refs named by `needs` and `needsThen` may be
 * read.
 */
export type RowReader = <Kept extends object = Row>(table: Table<Kept>, key: string) => Kept | null;

/**
 * When a row's subject began and ended; null while it continues. Rows are first written in roughly the order of their
 * beginning.
 */
export interface RowTime {
  readonly beganSec: number;
  readonly endedSec: number | null;
}

/**
 * A function of the rows of one table. It is typed as a method, so that one of a table's own rows may stand here;
 * `ofRows` keeps it with its table.
 */
type OfRow<Value> = { of(row: Row): Value }['of'];
export type TimeOfRow = OfRow<RowTime>;

/** A function of a table's rows, under the name of the table. */
export const ofRows = <Kept extends object, Value>(
  table: Table<Kept>,
  of: (row: Kept) => Value,
): Readonly<Record<string, OfRow<Value>>> => ({ [table]: of });

/**
 * A look-up as a pure function from an event and the rows it names to row changes. `name` and `version` together own
 * `tables` and `lists` (prefixes): another version is another set, replayed from the beginning.
 */
export interface Projection {
  readonly name: string;
  readonly version: number;
  readonly streamPrefixes: readonly string[];
  readonly tables: readonly string[];
  readonly lists: readonly string[];
  /**
   * Tables with listed rows: all places of a row, at most one per list, which it keeps while it stays there. Such rows
   * must be named before they are written; lists then follow the rows automatically, once per batch.
   */
  readonly listed?: Readonly<Record<string, OfRow<readonly ListPlace[]>>>;
  /** Tables whose rows may be archived. */
  readonly archived?: Readonly<Record<string, TimeOfRow>>;
  needs(event: StoredEvent<DomainEvent>): readonly RowRef[];
  /** Rows that can be named only after reading the first ones, such as the counters of a session's merchant. */
  needsThen?(event: StoredEvent<DomainEvent>, read: RowReader): readonly RowRef[];
  apply(event: StoredEvent<DomainEvent>, read: RowReader): readonly RowChange[];
}
