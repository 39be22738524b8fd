import { refuse } from '../../domain/values/result.ts';
import type { KeyObject } from 'node:crypto';
import type { MerchantId, Mode } from '../../domain/values/ids.ts';
import { decodeCursor, encodeCursor, type CursorScope } from './list-cursor.ts';
import type { Source } from './list-source.ts';
import type { Outcome } from './merchant-api.ts';

/** Page mode, or cursor mode with an empty cursor for the first page. */
export type Paging =
  | { readonly page: number; readonly pageSize: number }
  | { readonly cursor: string; readonly pageSize: number };

export interface ListQuery<Filters> {
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly filters: Filters;
  readonly paging: Paging;
}

/** In the form of the specification, "List endpoints and pagination". */
export interface PagePagination {
  readonly page: number;
  readonly page_size: number;
  readonly total: number;
  readonly total_pages: number;
  readonly has_more: boolean;
  /** The next page in cursor mode; null at the end. */
  readonly next_cursor: string | null;
}

export interface CursorPagination {
  readonly page_size: number;
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface Listing<ListedRow> {
  readonly rows: readonly ListedRow[];
  readonly pagination: PagePagination | CursorPagination;
}

export const refused = (param: string, message: string): Outcome<never> => refuse('invalid_request', message, param);

/** Where the cursor stands; null for the empty one, with which a walk begins. */
export function placeOf(key: KeyObject, scope: CursorScope, cursor: string): Outcome<number | null> {
  const place = cursor === '' ? null : decodeCursor(key, scope, cursor);
  return place !== null || cursor === ''
    ? { ok: true, value: place }
    : refused('cursor', 'the cursor does not belong to this list with these filters');
}

/** A page of a list by its number, or behind a cursor that was given out for the same list with the same filters. */
export async function pageOf<ListedRow>(
  key: KeyObject,
  scope: CursorScope,
  paging: Paging,
  source: Source<ListedRow>,
): Promise<Outcome<Listing<ListedRow>>> {
  const { pageSize } = paging;
  const cursorAfter = (entries: readonly { readonly order: number }[], hasMore: boolean): string | null => {
    const last = entries.at(-1);
    return hasMore && last ? encodeCursor(key, scope, last.order) : null;
  };
  if ('page' in paging) {
    const { page } = paging;
    const { entries, total } = await source.page((page - 1) * pageSize, pageSize);
    const hasMore = page * pageSize < total;
    const pagination: PagePagination = {
      page,
      page_size: pageSize,
      total,
      total_pages: Math.ceil(total / pageSize),
      has_more: hasMore,
      next_cursor: cursorAfter(entries, hasMore),
    };
    return { ok: true, value: { rows: entries.map(({ row }) => row), pagination } };
  }
  const before = placeOf(key, scope, paging.cursor);
  if (!before.ok) return before;
  const found = await source.before(before.value, pageSize + 1);
  const entries = found.slice(0, pageSize);
  const hasMore = found.length > pageSize;
  const pagination: CursorPagination = {
    page_size: pageSize,
    has_more: hasMore,
    next_cursor: cursorAfter(entries, hasMore),
  };
  return { ok: true, value: { rows: entries.map(({ row }) => row), pagination } };
}
