import { createSecretKey, type KeyObject } from 'node:crypto';
import { dayBefore } from '../../domain/values/calendar.ts';
import { merchantAccounts, type LedgerClock } from '../../domain/money/ledger.ts';
import type { ServedRows } from '../../runtime/projections/served-rows.ts';
import type { EntryRow } from '../../../projections/ledger/rows.ts';
import type { AsOf, LedgerBalances } from './balances.ts';
import type { LedgerJournal, PlacedEntry } from './journal.ts';
import { owedOf, settlementLinesOf, type OwedBalance, type SettlementLine } from './settlement.ts';
import { encodeCursor, type CursorScope } from '../shared/list-cursor.ts';
import { placeOf, type CursorPagination } from '../shared/list-page.ts';
import type { Outcome, Reader } from '../shared/merchant-api.ts';

/** Days of the books by a clock, inclusive; null for no bound. */
export interface LedgerRange {
  readonly clock: LedgerClock;
  readonly from: string | null;
  readonly to: string | null;
}

export interface CursorPaging {
  /** Empty for the first page. */
  readonly cursor: string;
  readonly pageSize: number;
}

export interface EntriesPage {
  readonly entries: readonly PlacedEntry[];
  readonly pagination: CursorPagination;
}

export interface SettlementPage {
  readonly range: LedgerRange;
  /** Before the first day of the range. */
  readonly opening: readonly OwedBalance[];
  /** At the end of the last day; now if the range has none. */
  readonly closing: readonly OwedBalance[];
  readonly lines: readonly SettlementLine[];
  readonly pagination: CursorPagination;
}

export interface MerchantLedgerDeps {
  readonly balances: LedgerBalances;
  readonly journal: LedgerJournal;
  readonly cursorKey: Uint8Array;
  /** Resolves once everything that the caller wrote before is booked, or after a bounded wait. */
  readonly servedRows: ServedRows;
}

/** The books as a merchant sees them, limited to its own accounts. */
export class MerchantLedger {
  readonly #deps: MerchantLedgerDeps;
  readonly #cursorKey: KeyObject;

  constructor(deps: MerchantLedgerDeps) {
    this.#deps = deps;
    this.#cursorKey = createSecretKey(deps.cursorKey);
  }

  async balances({ merchantId, mode }: Reader, asOf: AsOf): Promise<OwedBalance[]> {
    await this.#deps.servedRows();
    return owedOf(await this.#deps.balances.balances(mode, asOf, merchantAccounts(merchantId)), merchantId);
  }

  /** Entries that touch the merchant, in recording order. */
  async entries(owner: Reader, range: LedgerRange, paging: CursorPaging): Promise<Outcome<EntriesPage>> {
    await this.#deps.servedRows();
    const scope = cursorScope('ledger-entries', owner, range);
    const after = placeOf(this.#cursorKey, scope, paging.cursor);
    if (!after.ok) return after;
    const { entries, next } = await this.#deps.journal.page(
      { mode: owner.mode, book: owner.merchantId, ...range },
      after.value,
      paging.pageSize,
    );
    return { ok: true, value: { entries, pagination: this.#pagination(scope, paging.pageSize, next) } };
  }

  async settlement(owner: Reader, range: LedgerRange, paging: CursorPaging): Promise<Outcome<SettlementPage>> {
    const { pageSize } = paging;
    await this.#deps.servedRows();
    const scope = cursorScope('ledger-settlement', owner, range);
    const after = placeOf(this.#cursorKey, scope, paging.cursor);
    if (!after.ok) return after;
    const { page, next } = await settlementOf(this.#deps, owner, range, after.value, pageSize);
    return { ok: true, value: { ...page, pagination: this.#pagination(scope, pageSize, next) } };
  }

  #pagination(scope: CursorScope, pageSize: number, next: number | null): CursorPagination {
    return {
      page_size: pageSize,
      has_more: next !== null,
      next_cursor: next === null ? null : encodeCursor(this.#cursorKey, scope, next),
    };
  }
}

/** A page of the settlement report after a place in the merchant's book, with the place of the next page. */
export async function settlementOf(
  { balances, journal }: Pick<MerchantLedgerDeps, 'balances' | 'journal'>,
  { merchantId, mode }: Reader,
  range: LedgerRange,
  after: number | null,
  limit: number,
): Promise<{ page: Omit<SettlementPage, 'pagination'>; next: number | null }> {
  const { clock, from, to } = range;
  const owed = async (day: string | null): Promise<OwedBalance[]> =>
    owedOf(await balances.balances(mode, { clock, day }, merchantAccounts(merchantId)), merchantId);
  const linesOf = (entry: EntryRow): SettlementLine[] => settlementLinesOf(entry, merchantId);
  const { entries, next } = await journal.page(
    { mode, book: merchantId, ...range },
    after,
    limit,
    (entry) => linesOf(entry).length > 0,
  );
  const opening = from === null ? [] : await owed(dayBefore(from));
  return {
    page: { range, opening, closing: await owed(to), lines: entries.flatMap(({ entry }) => linesOf(entry)) },
    next,
  };
}

const cursorScope = (
  list: CursorScope['list'],
  { merchantId, mode }: Reader,
  { clock, from, to }: LedgerRange,
): CursorScope => ({
  list,
  merchantId,
  mode,
  filters: { clock, from: from ?? undefined, to: to ?? undefined },
});
