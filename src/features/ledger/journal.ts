import { setImmediate as breathe } from 'node:timers/promises';
import { dayBefore } from '../../domain/values/calendar.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { LedgerClock } from '../../domain/money/ledger.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import {
  bookKey,
  entryKey,
  LEDGER_BOOKS_TABLE,
  LEDGER_ENTRIES_TABLE,
  LEDGER_PLACES_TABLE,
  placeKey,
  type EntryRow,
} from '../../../projections/ledger/rows.ts';
import { must } from '../../domain/values/must.ts';

/** Selects entries: all of a mode, or those of one book (a merchant, or an account of the operator). */
export interface JournalScope {
  readonly mode: Mode;
  readonly book: string | null;
  readonly clock: LedgerClock;
  /** Days of the books by the clock, inclusive. */
  readonly from: string | null;
  readonly to: string | null;
}

export interface PlacedEntry {
  /** Position within the book, from 1; in the journal of the mode, the number itself. */
  readonly place: number;
  readonly entry: EntryRow;
}

export interface JournalPage {
  readonly entries: readonly PlacedEntry[];
  /** Where the next page continues; null at the end. */
  readonly next: number | null;
}

const CHUNK = 200;
/**
 * Entries examined per page, so that a narrow filter responds in bounded time with fewer entries and a place to
 * continue.
 */
const MAX_LOOKED_AT = 5_000;

/** Reads entries in recording order from any place, at a cost proportional to what is read. */
export class LedgerJournal {
  readonly #readModel: Pick<ReadModel, 'get' | 'getMany' | 'scan'>;

  constructor(readModel: Pick<ReadModel, 'get' | 'getMany' | 'scan'>) {
    this.#readModel = readModel;
  }

  /** Number of entries in the whole book. */
  async count({ mode, book }: Pick<JournalScope, 'mode' | 'book'>): Promise<number> {
    const row = await this.#readModel.get(LEDGER_BOOKS_TABLE, book === null ? mode : bookKey(mode, book));
    return row?.entries ?? 0;
  }

  /** At most `limit` entries after a place that pass `keep`. */
  async page(
    scope: JournalScope,
    after: number | null,
    limit: number,
    keep: (entry: EntryRow) => boolean = () => true,
  ): Promise<JournalPage> {
    const entries: PlacedEntry[] = [];
    let place = after ?? (await this.#start(scope)) - 1;
    const lookAtMost = place + MAX_LOOKED_AT;
    for await (const chunk of this.#chunks(scope, place)) {
      for (const placed of chunk) {
        if (isPast(scope, placed.entry)) return { entries, next: null };
        if (entries.length === limit) return { entries, next: place };
        place = placed.place;
        if (isWithin(scope, placed.entry) && keep(placed.entry)) entries.push(placed);
      }
      if (place >= lookAtMost) return { entries, next: place };
    }
    return { entries, next: null };
  }

  /** Every entry of the scope in batches, with pauses for other work on the thread. */
  async *walk(scope: JournalScope): AsyncGenerator<readonly PlacedEntry[]> {
    for await (const chunk of this.#chunks(scope, (await this.#start(scope)) - 1)) {
      yield chunk.filter(({ entry }) => isWithin(scope, entry));
      if (chunk.some(({ entry }) => isPast(scope, entry))) return;
      await breathe();
    }
  }

  async *#chunks({ mode, book }: JournalScope, after: number): AsyncGenerator<readonly PlacedEntry[]> {
    const end = await this.count({ mode, book });
    for (let place = after + 1; place <= end; place += CHUNK) {
      const places = Array.from({ length: Math.min(CHUNK, end - place + 1) }, (_, index) => place + index);
      const entries = await this.#entries(mode, await this.#numbers(mode, book, places));
      yield entries.map((entry, index) => ({ place: must(places[index]), entry }));
    }
  }

  async #numbers(mode: Mode, book: string | null, places: readonly number[]): Promise<number[]> {
    if (book === null) return [...places];
    const keys = places.map((place) => placeKey(mode, book, place));
    const rows = await this.#readModel.getMany(LEDGER_PLACES_TABLE, keys);
    return rows.map((row, index) => present(row, `place ${keys[index]}`).number);
  }

  async #entries(mode: Mode, numbers: readonly number[]): Promise<EntryRow[]> {
    const keys = numbers.map((number) => entryKey(mode, number));
    const rows = await this.#readModel.getMany(LEDGER_ENTRIES_TABLE, keys);
    return rows.map((row, index) => present(row, `entry ${keys[index]}`));
  }

  /**
   * The first place that can be in the scope: everything before it was recorded earlier. The clocks of nodes differ by
   * less than a day.
   */
  async #start({ mode, book, from }: JournalScope): Promise<number> {
    if (from === null) return 1;
    const earliest = dayBefore(from);
    let low = 1;
    let high = (await this.count({ mode, book })) + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [entry] = await this.#entries(mode, await this.#numbers(mode, book, [middle]));
      if (must(entry).days.recorded < earliest) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function present<Row>(row: Row | null, what: string): Row {
  if (row === null) throw new Error(`${what} is missing: the books are being rebuilt`);
  return row;
}

const isWithin = ({ clock, from, to }: JournalScope, { days }: EntryRow): boolean =>
  (from === null || days[clock] >= from) && (to === null || days[clock] <= to);

/** Chain facts may be recorded at any time, so only the recording clock tells that nothing more can follow. */
const isPast = ({ clock, to }: JournalScope, { days }: EntryRow): boolean =>
  clock === 'recorded' && to !== null && dayBefore(days.recorded) > to;
