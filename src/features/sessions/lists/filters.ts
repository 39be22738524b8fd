import type { RefundListFilters } from '../../../../projections/sessions/refund-list.ts';
import type { SessionListFilters } from '../../../../projections/sessions/session-list.ts';
import type { SessionRow } from '../../../../projections/sessions/session-row.ts';
import type { TransactionListFilters } from '../../../../projections/sessions/transaction-list.ts';
import type { SessionId } from '../../../domain/values/ids.ts';

export interface CreatedRange {
  /** Unix seconds, inclusive. */
  readonly createdFrom?: number;
  readonly createdTo?: number;
}

export type SessionFilters = SessionListFilters &
  CreatedRange & { readonly orderId?: string; readonly metadata?: Readonly<Record<string, string>> };
export type TransactionFilters = TransactionListFilters &
  CreatedRange & { readonly orderId?: string; readonly sessionId?: SessionId };
export type RefundFilters = RefundListFilters &
  CreatedRange & { readonly orderId?: string; readonly sessionId?: SessionId };

export const meetsFilters = (row: SessionRow, { status, network, coin, orderId }: SessionFilters): boolean =>
  (status === undefined || status === row.status || (status === 'unpaid' && row.status !== 'paid')) &&
  (network === undefined || network in row.arrivedOn) &&
  meet(row.dueCoin, coin) &&
  meet(row.orderId, orderId);

export const meet = (value: string, wanted: string | undefined): boolean => wanted === undefined || wanted === value;

export const isWithin = (sec: number, { createdFrom = -Infinity, createdTo = Infinity }: CreatedRange): boolean =>
  sec >= createdFrom && sec <= createdTo;
