import type { MerchantId, Mode, SessionId } from '../../src/domain/values/ids.ts';
import type { Coin } from '../../src/domain/money/money.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { ListPlace } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';
import { filteredList, filteredLists } from '../shared/filtered-lists.ts';
import { SESSION_STATUSES, SESSIONS_TABLE, type SessionRow } from './session-row.ts';

export const SESSION_LISTS = 'sessions@1/';

/** The exact status, or the public `payment_status`, in which `unpaid` is every status except `paid`. */
export const FILTER_STATUSES = [...SESSION_STATUSES, 'unpaid'] as const;
export type SessionFilterStatus = (typeof FILTER_STATUSES)[number];

export interface SessionListFilters {
  readonly status?: SessionFilterStatus;
  /** A network on which money arrived. */
  readonly network?: Network;
  /** The due coin. */
  readonly coin?: Coin;
}

const scope = (mode: Mode, merchantId: MerchantId): string => `${SESSION_LISTS}${mode}/${merchantId}`;

export function sessionList(mode: Mode, merchantId: MerchantId, { status, network, coin }: SessionListFilters): string {
  return filteredList(scope(mode, merchantId), [status, network, coin]);
}

/** Every list that shows the session. */
export function placesOfSession(row: SessionRow): ListPlace[] {
  const { order, listedSec: atSec } = row;
  const statuses = row.status === 'paid' ? ['paid'] : [row.status, 'unpaid'];
  const lists = filteredLists(scope(row.mode, row.merchantId), [statuses, Object.keys(row.arrivedOn), [row.dueCoin]]);
  return [{ lists, order, atSec }];
}

/* An order_id names at most one session per merchant and mode. */

export const ORDERS_TABLE: Table<{ readonly sessionId: SessionId }> = 'session-orders@1';

export const orderKey = (mode: Mode, merchantId: MerchantId, orderId: string): string =>
  `${mode}/${merchantId}/${orderId}`;

/** The session's row and, once, the look-up of its order_id. */
export function sessionChanges(before: SessionRow | null, after: SessionRow): RowChange[] {
  const { sessionId, mode, merchantId, orderId } = after;
  const changes: RowChange[] = [putRow(SESSIONS_TABLE, sessionId, after)];
  if (!before) changes.push(putRow(ORDERS_TABLE, orderKey(mode, merchantId, orderId), { sessionId }));
  return changes;
}
