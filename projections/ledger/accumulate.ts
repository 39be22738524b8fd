import { dayOf, firstDayOf, monthOf, nextMonth } from '../../src/domain/values/calendar.ts';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { MerchantId, Mode, SessionId } from '../../src/domain/values/ids.ts';
import type { LedgerClock, Posting } from '../../src/domain/money/ledger.ts';
import { formatAmount, signedAmountOf } from '../../src/domain/money/money.ts';
import type { RowReader, RowRef } from '../../src/ports/read-model/projection.ts';
import type { RowChange, Table } from '../../src/ports/read-model/read-model.ts';
import type { EntryDraft } from './entry.ts';
import {
  addressKey,
  balanceKey,
  bookKey,
  bookOf,
  countsKey,
  daysKey,
  entryKey,
  LEDGER_ADDRESSES_TABLE,
  LEDGER_BALANCES_TABLE,
  LEDGER_BOOKS_TABLE,
  LEDGER_COUNTS_TABLE,
  LEDGER_DAYS_TABLE,
  LEDGER_ENTRIES_TABLE,
  LEDGER_NEWEST_BLOCKS_TABLE,
  LEDGER_PLACES_TABLE,
  LEDGER_SUMS_TABLE,
  newestBlockKey,
  placeKey,
  sumKey,
  type EntryLine,
  type EntryRow,
  type ModeRow,
  type Moved,
  LEDGER_MODES_TABLE,
} from './rows.ts';

/** An entry with its owner. */
export interface OwnedDraft {
  readonly mode: Mode;
  readonly merchantId?: MerchantId;
  readonly sessionId?: SessionId;
  readonly orderId?: string;
  readonly moveId?: string;
  readonly draft: EntryDraft;
}

type Days = Readonly<Record<LedgerClock, string>>;

/** The days of the books for a fact: its own, or the first open one if its period is closed. */
function daysOf(atMs: number, chainTimeSec: number | undefined, { closedThrough }: ModeRow): Days {
  const openFrom = closedThrough === null ? '' : firstDayOf(nextMonth(closedThrough));
  const own = dayOf(atMs / 1000);
  const recorded = own < openFrom ? openFrom : own;
  if (chainTimeSec === undefined) return { recorded, chain: recorded };
  const taken = dayOf(chainTimeSec);
  return { recorded, chain: taken < openFrom ? openFrom : taken };
}

/** The books that list an entry. */
function booksOf({ merchantId, draft }: OwnedDraft): string[] {
  const books = new Set<string>(merchantId === undefined ? [] : [merchantId]);
  for (const { account } of draft.postings) {
    const book = bookOf(account);
    if (book !== null) books.add(book);
  }
  return [...books];
}

/** Every row that `accumulate` reads for an entry. */
export function rowsOf(owned: OwnedDraft, atMs: number, modeRow: ModeRow): RowRef[] {
  const { mode, draft } = owned;
  const days = daysOf(atMs, draft.chainTimeSec, modeRow);
  const months = new Set([monthOf(days.recorded), monthOf(days.chain)]);
  const refs: RowRef[] = booksOf(owned).map((book) => ({ table: LEDGER_BOOKS_TABLE, key: bookKey(mode, book) }));
  for (const month of months) refs.push({ table: LEDGER_COUNTS_TABLE, key: countsKey(mode, month) });
  for (const { account, network, coin, address } of draft.postings) {
    const key = balanceKey(mode, account, network, coin);
    refs.push({ table: LEDGER_BALANCES_TABLE, key }, { table: LEDGER_SUMS_TABLE, key: sumKey(mode, network, coin) });
    for (const month of months) refs.push({ table: LEDGER_DAYS_TABLE, key: daysKey(key, month) });
    if (address !== undefined) refs.push({ table: LEDGER_ADDRESSES_TABLE, key: addressKey(key, address) });
  }
  const booked = bookedBlock(owned);
  if (booked) refs.push({ table: LEDGER_NEWEST_BLOCKS_TABLE, key: booked.key });
  return refs;
}

/** The block that an entry takes money from; a memo books none, since its block may be one provider's word. */
function bookedBlock({ mode, draft }: OwnedDraft): { readonly key: string; readonly blockNumber: number } | null {
  const { postings, evidence } = draft;
  if (postings.length === 0 || evidence?.blockNumber === undefined) return null;
  return { key: newestBlockKey(mode, evidence.network), blockNumber: evidence.blockNumber };
}

/** Numbers and dates the entries of an event, all of one mode, and adds their lines to every figure. */
export function accumulate(
  entries: readonly OwnedDraft[],
  stored: StoredEvent<DomainEvent>,
  modeRow: ModeRow,
  read: RowReader,
): RowChange[] {
  const rows = new ChangedRows(read);
  let last = modeRow;
  for (const owned of entries) last = addEntry(rows, owned, stored, last);
  return rows.changes();
}

/** Returns the mode's row after the entry. */
function addEntry(rows: ChangedRows, owned: OwnedDraft, stored: StoredEvent<DomainEvent>, modeRow: ModeRow): ModeRow {
  const { mode, draft } = owned;
  const number = modeRow.entries + 1;
  const days = daysOf(stored.atMs, draft.chainTimeSec, modeRow);
  const lines = draft.postings.map((posting) => addLine(rows, mode, posting, days));
  for (const book of booksOf(owned)) {
    const key = bookKey(mode, book);
    const place = (rows.get(LEDGER_BOOKS_TABLE, key)?.entries ?? 0) + 1;
    rows.put(LEDGER_BOOKS_TABLE, key, { entries: place });
    rows.put(LEDGER_PLACES_TABLE, placeKey(mode, book, place), { number });
  }
  const booked = bookedBlock(owned);
  if (booked && booked.blockNumber > (rows.get(LEDGER_NEWEST_BLOCKS_TABLE, booked.key)?.blockNumber ?? 0))
    rows.put(LEDGER_NEWEST_BLOCKS_TABLE, booked.key, { blockNumber: booked.blockNumber });
  count(rows, mode, days);
  rows.put(LEDGER_ENTRIES_TABLE, entryKey(mode, number), entryRow(owned, stored, number, days, lines));
  const after = touchedBy(modeRow, number, stored.id, lines.length > 0 ? days : null);
  rows.put(LEDGER_MODES_TABLE, mode, after);
  return after;
}

function count(rows: ChangedRows, mode: Mode, inDays: Days): void {
  for (const [day, clocks] of clocksOf(inDays)) {
    const key = countsKey(mode, monthOf(day));
    const { days = {} } = rows.get(LEDGER_COUNTS_TABLE, key) ?? {};
    const date = day.slice(monthOf(day).length + 1);
    const [ofRecorded, ofChain] = days[date] ?? [0, 0];
    const counted = [ofRecorded + (clocks & RECORDED ? 1 : 0), ofChain + (clocks & CHAIN ? 1 : 0)] as const;
    rows.put(LEDGER_COUNTS_TABLE, key, { days: { ...days, [date]: counted } });
  }
}

function touchedBy(modeRow: ModeRow, number: number, event: string, days: Days | null): ModeRow {
  if (!days) return { ...modeRow, entries: number };
  const last = { number, event };
  return {
    ...modeRow,
    entries: number,
    touched: { ...modeRow.touched, [monthOf(days.recorded)]: last, [monthOf(days.chain)]: last },
  };
}

function entryRow(
  owned: OwnedDraft,
  stored: StoredEvent<DomainEvent>,
  number: number,
  days: Days,
  lines: readonly EntryLine[],
): EntryRow {
  const { mode, draft, ...owner } = owned;
  const { postings: _postings, evidence, ...rest } = draft;
  const { id, stream, revision, atMs } = stored;
  return { number, id, mode, ...owner, ...rest, ...evidence, stream, revision, recordedAtMs: atMs, days, lines };
}

function addLine(
  rows: ChangedRows,
  mode: Mode,
  { account, network, coin, units, address }: Posting,
  days: Days,
): EntryLine {
  const key = balanceKey(mode, account, network, coin);
  const before = rows.get(LEDGER_BALANCES_TABLE, key);
  const balance = plus(before?.balance, units);
  const months = { ...before?.months };
  for (const [day, clocks] of clocksOf(days)) {
    const month = monthOf(day);
    months[month] = moved(months[month], clocks, units);
    const inMonth = { ...rows.get(LEDGER_DAYS_TABLE, daysKey(key, month))?.days };
    const date = day.slice(month.length + 1);
    inMonth[date] = moved(inMonth[date], clocks, units);
    rows.put(LEDGER_DAYS_TABLE, daysKey(key, month), { days: inMonth });
  }
  rows.put(LEDGER_BALANCES_TABLE, key, { mode, account, network, coin, balance, months });
  const sum = sumKey(mode, network, coin);
  rows.put(LEDGER_SUMS_TABLE, sum, { mode, network, coin, sum: plus(rows.get(LEDGER_SUMS_TABLE, sum)?.sum, units) });
  const amount = formatAmount(units, 0);
  if (address === undefined) return { account, network, coin, amount, balance };
  const place = addressKey(key, address);
  const held = rows.get(LEDGER_ADDRESSES_TABLE, place)?.balance;
  rows.put(LEDGER_ADDRESSES_TABLE, place, { account, network, coin, address, balance: plus(held, units) });
  return { account, network, coin, amount, balance, address };
}

const plus = (text: string | undefined, units: bigint): string =>
  formatAmount(text === undefined ? units : signedAmountOf(text) + units, 0);

/** Bit flags for the two clocks of a day. */
const RECORDED = 1;
const CHAIN = 2;
const BOTH = RECORDED | CHAIN;

/** The days of an entry with their clocks; mostly both are equal. */
const clocksOf = ({ recorded, chain }: Days): readonly (readonly [day: string, clocks: number])[] =>
  recorded === chain
    ? [[recorded, BOTH]]
    : [
        [recorded, RECORDED],
        [chain, CHAIN],
      ];

function moved(before: Moved | undefined, clocks: number, units: bigint): Moved {
  const [recorded, chain] = before ?? ['0', '0'];
  // Their sums are then mostly one.
  if (clocks === BOTH && recorded === chain) {
    const sum = plus(recorded, units);
    return [sum, sum];
  }
  return [clocks & RECORDED ? plus(recorded, units) : recorded, clocks & CHAIN ? plus(chain, units) : chain];
}

/** Rows changed by an entry: each line sees the changes of the previous ones. */
class ChangedRows {
  readonly #read: RowReader;
  readonly #puts = new Map<string, Extract<RowChange, { op: 'put' }>>();

  constructor(read: RowReader) {
    this.#read = read;
  }

  get<Kept extends object>(table: Table<Kept>, key: string): Kept | null;
  get(table: string, key: string): object | null {
    return this.#puts.get(`${table}\0${key}`)?.row ?? this.#read(table, key);
  }

  put<Kept extends object>(table: Table<Kept>, key: string, row: Kept): void {
    this.#puts.set(`${table}\0${key}`, { op: 'put', table, key, row });
  }

  changes(): RowChange[] {
    return [...this.#puts.values()];
  }
}
