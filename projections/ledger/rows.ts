import type { EntryKind, FiatValue, LedgerClock } from '../../src/domain/money/ledger.ts';
import { DEPOSIT_WALLETS, merchantAccountOf } from '../../src/domain/money/ledger.ts';
import type { MerchantId, Mode, SessionId } from '../../src/domain/values/ids.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { Table } from '../../src/ports/read-model/read-model.ts';

/*
 * The rows of the books. Entries have gapless numbers within a mode and gapless places within a book, so any page of
 * any journal is a read of computable keys, on every read model.
 */

/** Entries by mode and number. */
export const LEDGER_ENTRIES_TABLE: Table<EntryRow> = 'ledger-entries@1';
/**
 * Numbers of entries by mode, book and place. A book is a merchant, or an account of the operator other than the
 * deposit wallets.
 */
export const LEDGER_PLACES_TABLE: Table<{ readonly number: number }> = 'ledger-places@1';
const BOOKS = 'ledger-books@1';
/** The progress of a mode and of each of its books. */
export const LEDGER_BOOKS_TABLE: Table<BookRow> = BOOKS;
/** The same table, for rows of modes. */
export const LEDGER_MODES_TABLE: Table<ModeRow> = BOOKS;
/** Balances by mode, account, network and coin, with the changes of each month. */
export const LEDGER_BALANCES_TABLE: Table<BalanceRow> = 'ledger-balances@1';
/** Changes of each day, by balance and month. */
export const LEDGER_DAYS_TABLE: Table<DaysRow> = 'ledger-days@1';
/** Number of entries per day, by mode and month. */
export const LEDGER_COUNTS_TABLE: Table<CountsRow> = 'ledger-counts@1';
/** Balances of accounts that represent addresses, by address. */
export const LEDGER_ADDRESSES_TABLE: Table<AddressBalanceRow> = 'ledger-addresses@1';
/** Debits less credits over all accounts, by mode, network and coin. */
export const LEDGER_SUMS_TABLE: Table<SumRow> = 'ledger-sums@1';
/** The newest block with money in the books, by mode and network. */
export const LEDGER_NEWEST_BLOCKS_TABLE: Table<{ readonly blockNumber: number }> = 'ledger-newest-blocks@1';
/** Sealed figures by mode and month. */
export const LEDGER_PERIODS_TABLE: Table<PeriodRow> = 'ledger-periods@1';

export interface EntryLine {
  readonly account: string;
  readonly network: Network;
  readonly coin: string;
  /** Positive is a debit, negative a credit. */
  readonly amount: string;
  /** Balance of the account in this coin on this network after the line, in recording order. */
  readonly balance: string;
  readonly address?: string;
}

export interface EntryRow {
  /** From 1 within the mode, without gaps, in recording order. */
  readonly number: number;
  /** Id of the event behind the entry. An event that charges or returns a service fee makes two entries. */
  readonly id: string;
  readonly kind: EntryKind;
  readonly mode: Mode;
  readonly merchantId?: MerchantId;
  readonly sessionId?: SessionId;
  readonly orderId?: string;
  readonly refundId?: string;
  /** Of a treasury move, or of an adjustment. */
  readonly moveId?: string;
  readonly stream: string;
  readonly revision: number;
  readonly recordedAtMs: number;
  readonly chainTimeSec?: number;
  /** The day of the books by each clock; later than the fact's own if that day's period was closed. */
  readonly days: Readonly<Record<LedgerClock, string>>;
  readonly network?: Network;
  readonly txHash?: string;
  readonly logIndex?: number;
  readonly blockNumber?: number;
  readonly blockHash?: string;
  readonly reverses?: string;
  readonly lines: readonly EntryLine[];
  readonly memo?: { readonly network: Network | null; readonly coin: string; readonly amount: string };
  readonly value?: FiatValue;
}

/** Change by the recording clock, then by the chain clock. */
export type Moved = readonly [recorded: string, chain: string];

export interface BalanceRow {
  readonly mode: Mode;
  readonly account: string;
  readonly network: Network;
  readonly coin: string;
  readonly balance: string;
  readonly months: Readonly<Record<string, Moved>>;
}

export interface DaysRow {
  /** By day of the month, two digits. */
  readonly days: Readonly<Record<string, Moved>>;
}

export interface CountsRow {
  /** By day of the month, two digits: by the recording clock, then by the chain clock. */
  readonly days: Readonly<Record<string, readonly [recorded: number, chain: number]>>;
}

export interface AddressBalanceRow extends Pick<EntryLine, 'account' | 'network' | 'coin' | 'balance'> {
  readonly address: string;
}

export interface SumRow {
  readonly mode: Mode;
  readonly network: Network;
  readonly coin: string;
  readonly sum: string;
}

export interface BookRow {
  /** Number of entries so far, which is the number of the last one. */
  readonly entries: number;
}

export interface ModeRow extends BookRow {
  /** The last closed month; null if there is none. */
  readonly closedThrough: string | null;
  /** By open month: the last entry that either clock put into it. */
  readonly touched: Readonly<Record<string, { readonly number: number; readonly event: string }>>;
}

export interface PeriodRow {
  readonly period: string;
  readonly closedAtSec: number;
  readonly actor: string;
  /** Id of the event that sealed it. */
  readonly entry: string;
  readonly balances: Readonly<Record<string, string>>;
}

export const EMPTY_MODE: ModeRow = { entries: 0, closedThrough: null, touched: {} };

const NUMBER_DIGITS = 12;
const padded = (number: number): string => String(number).padStart(NUMBER_DIGITS, '0');

export const entryKey = (mode: Mode, number: number): string => `${mode}/${padded(number)}`;
export const placeKey = (mode: Mode, book: string, place: number): string => `${mode}/${book}/${padded(place)}`;
export const bookKey = (mode: Mode, book: string): string => `${mode}/${book}`;
export const balanceKey = (mode: Mode, account: string, network: string, coin: string): string =>
  `${mode}/${account}/${network}/${coin}`;
export const daysKey = (balance: string, month: string): string => `${balance}/${month}`;
export const countsKey = (mode: Mode, month: string): string => `${mode}/${month}`;
export const addressKey = (balance: string, address: string): string => `${balance}/${address}`;
export const sumKey = (mode: Mode, network: string, coin: string): string => `${mode}/${network}/${coin}`;
export const newestBlockKey = (mode: Mode, network: string): string => `${mode}/${network}`;
export const periodKey = (mode: Mode, period: string): string => `${mode}/${period}`;
/** A figure of a closed period. */
export const figureKey = (clock: LedgerClock, account: string, network: string, coin: string): string =>
  `${clock}/${account}/${network}/${coin}`;

/**
 * The book of an account: its merchant's, its own, or none for the deposit wallets, whose book would list nearly every
 * entry.
 */
export function bookOf(account: string): string | null {
  if (account === DEPOSIT_WALLETS) return null;
  return merchantAccountOf(account)?.merchantId ?? account;
}

/**
 * The event that a closing of `month` must name: that of the last entry up to its end, by id, which is the same in
 * every store; empty if there is none.
 */
export function sealOf({ touched }: ModeRow, month: string): string {
  let last: ModeRow['touched'][string] | null = null;
  for (const [touchedMonth, entry] of Object.entries(touched))
    if (touchedMonth <= month && entry.number > (last?.number ?? 0)) last = entry;
  return last?.event ?? '';
}
