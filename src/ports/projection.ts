import type { StoredEvent } from '../domain/events/envelope.ts';
import type { DomainEvent } from '../domain/events/domain-event.ts';
import type { Row, RowChange, Table } from './read-model.ts';

export interface RowRef {
  readonly table: string;
  readonly key: string;
  /** The event is the first that can write the row: there is none to be looked for. */
  readonly isNew?: true;
}

/** Where a row is listed, under its key: one place in several lists. */
export interface ListPlace {
  readonly lists: readonly string[];
  readonly order: number;
  readonly atSec: number;
}

/**
 * Reads rows as they stand after every change so far, this batch's included. Only refs named by `needs` and `needsThen`
 * may be read.
 */
export type RowReader = <Kept extends object = Row>(table: Table<Kept>, key: string) => Kept | null;

/**
 * When what a row shows began, and when it ended; null while it goes on. Rows are first written in about the order in
 * which they began.
 */
export interface RowTime {
  readonly beganSec: number;
  readonly endedSec: number | null;
}

export type TimeOfRow = (row: Row) => RowTime;

/**
 * A look-up, as a pure function from an event and the rows it names to row changes. `name` and `version` together own
 * `tables` and `lists` (prefixes): another version is another set, replayed from the beginning.
 */
export interface Projection {
  readonly name: string;
  readonly version: number;
  readonly streamPrefixes: readonly string[];
  readonly tables: readonly string[];
  readonly lists: readonly string[];
  /**
   * Tables whose rows are listed: every place of a row, at most one in a list, which it keeps while it stays there.
   * Such rows must be named before they are written; lists then follow the rows by themselves, once a batch.
   */
  readonly listed?: Readonly<Record<string, (row: Row) => readonly ListPlace[]>>;
  /** Tables whose rows may leave the files that are read every day. */
  readonly archived?: Readonly<Record<string, TimeOfRow>>;
  needs(event: StoredEvent<DomainEvent>): readonly RowRef[];
  /** Rows that can be named only with the first ones at hand, such as the counters of a session's merchant. */
  needsThen?(event: StoredEvent<DomainEvent>, read: RowReader): readonly RowRef[];
  apply(event: StoredEvent<DomainEvent>, read: RowReader): readonly RowChange[];
}
