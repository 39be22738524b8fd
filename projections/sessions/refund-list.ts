import type { MerchantId, Mode, SessionId } from '../../src/domain/values/ids.ts';
import type { Coin } from '../../src/domain/money/money.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { ListPlace } from '../../src/ports/read-model/projection.ts';
import { filteredList, filteredLists } from '../shared/filtered-lists.ts';
import type { RefundRow, RefundStatus } from './refund-row.ts';

export const REFUND_LISTS = 'refunds@1/';

export interface RefundListFilters {
  readonly status?: RefundStatus;
  /** The network of any of its payouts. */
  readonly network?: Network;
  readonly coin?: Coin;
}

const scope = (mode: Mode, merchantId: MerchantId): string => `${REFUND_LISTS}${mode}/${merchantId}`;

export function refundList(mode: Mode, merchantId: MerchantId, { status, network, coin }: RefundListFilters): string {
  return filteredList(scope(mode, merchantId), [status, network, coin]);
}

/** The session's own list: its refunds except the first one, which the session's row names. */
export const refundsOfSession = (sessionId: SessionId): string => `${REFUND_LISTS}of/${sessionId}`;

/** Every list that shows the refund: those of the merchant and, except for the first one, that of the session. */
export function placesOfRefund(row: RefundRow): ListPlace[] {
  const { mode, merchantId, status, payouts, coin, order, sessionOrder, listedSec: atSec } = row;
  const lists = filteredLists(scope(mode, merchantId), [
    [status],
    [...new Set(payouts.map((payout) => payout.network))],
    [coin],
  ]);
  const ofMerchant = { lists, order, atSec };
  return sessionOrder === 0
    ? [ofMerchant]
    : [ofMerchant, { lists: [refundsOfSession(row.sessionId)], order: sessionOrder, atSec }];
}
