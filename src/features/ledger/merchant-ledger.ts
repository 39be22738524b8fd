import { createSecretKey, type KeyObject } from 'node:crypto';
import { dayBefore } from '../../domain/calendar.ts';
import type { MerchantId, Mode } from '../../domain/ids.ts';
import { merchantAccounts, type LedgerClock } from '../../domain/ledger.ts';
import type { ServedRows } from '../../runtime/projections/served-rows.ts';
import type { EntryRow } from '../../../projections/ledger/rows.ts';
import type { AsOf, LedgerBalances } from './balances.ts';
import type { LedgerJournal, PlacedEntry } from './journal.ts';
import { owedOf, settlementLinesOf, type OwedBalance, type SettlementLine } from './settlement.ts';
import { decodeCursor, encodeCursor, type CursorScope } from '../shared/list-cursor.ts';
import type { CursorPagination } from '../sessions/lists.ts';
import type { Outcome } from '../shared/merchant-api.ts';

export interface LedgerOwner {
  readonly merchantId: MerchantId;
  readonly mode: Mode;
}

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

  async balances({ merchantId, mode }: LedgerOwner, asOf: AsOf): Promise<OwedBalance[]> {
    await this.#deps.servedRows();
    return owedOf(await this.#deps.balances.balances(mode, asOf, merchantAccounts(merchantId)), merchantId);
  }

  /** Entries that touch the merchant, in recording order. */
  async entries(owner: LedgerOwner, range: LedgerRange, paging: CursorPaging): Promise<Outcome<EntriesPage>> {
    await this.#deps.servedRows();
    const scope = cursorScope('ledger-entries', owner, range);
    const after = this.#place(scope, paging);
    if (!after.ok) return after;
    const { entries, next } = await this.#deps.journal.page(
      { mode: owner.mode, book: owner.merchantId, ...range },
      after.value,
      paging.pageSize,
    );
    return { ok: true, value: { entries, pagination: this.#pagination(scope, paging.pageSize, next) } };
  }

  async settlement(owner: LedgerOwner, range: LedgerRange, paging: CursorPaging): Promise<Outcome<SettlementPage>> {
    const { pageSize } = paging;
    await this.#deps.servedRows();
    const scope = cursorScope('ledger-settlement', owner, range);
    const after = this.#place(scope, paging);
    if (!after.ok) return after;
    const { page, next } = await settlementOf(this.#deps, owner, range, after.value, pageSize);
    return { ok: true, value: { ...page, pagination: this.#pagination(scope, pageSize, next) } };
  }

  #place(scope: CursorScope, { cursor }: CursorPaging): Outcome<number | null> {
    const place = cursor === '' ? null : decodeCursor(this.#cursorKey, scope, cursor);
    if (cursor === '' || place !== null) return { ok: true, value: place };
    return {
      ok: false,
      refusal: {
        code: 'invalid_request',
        message: 'The cursor does not belong to this list and its filters.',
        param: 'cursor',
      },
    };
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
  { merchantId, mode }: LedgerOwner,
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
  { merchantId, mode }: LedgerOwner,
  { clock, from, to }: LedgerRange,
): CursorScope => ({
  list,
  merchantId,
  mode,
  filters: { clock, from: from ?? undefined, to: to ?? undefined },
});
