import type { MerchantId, Mode } from '../../src/domain/values/ids.ts';
import type { Table } from '../../src/ports/read-model/read-model.ts';

/** Number of a merchant's records of each kind, which is the next one's place in the merchant's lists. */
export const COUNTERS_TABLE: Table<CountersRow> = 'merchant-counters@1';

export type ListedKind = 'sessions' | 'transactions' | 'refunds';

type Counter = { readonly next: number; readonly lastSec: number };
export type CountersRow = { readonly [kind in ListedKind]: Counter };

export type Place = {
  /** Gapless per merchant, mode and kind, from 0. */
  readonly order: number;
  /**
   * Unix seconds under which the record is listed: its own time, or that of the newest record before it if nodes'
   * clocks differ, so that time never decreases within a list.
   */
  readonly listedSec: number;
};

const NONE: Counter = { next: 0, lastSec: 0 };
const NO_RECORDS: CountersRow = { sessions: NONE, transactions: NONE, refunds: NONE };

export const countersKey = (mode: Mode, merchantId: MerchantId): string => `${mode}/${merchantId}`;

/** Assigns places in the lists of one merchant while one event is applied. */
export class Places {
  counters: CountersRow;
  readonly before: CountersRow;

  constructor(counters: CountersRow | null) {
    this.before = counters ?? NO_RECORDS;
    this.counters = this.before;
  }

  next(kind: ListedKind, atSec: number): Place {
    const { next, lastSec } = this.counters[kind];
    const listedSec = Math.max(atSec, lastSec);
    this.counters = { ...this.counters, [kind]: { next: next + 1, lastSec: listedSec } };
    return { order: next, listedSec };
  }
}
