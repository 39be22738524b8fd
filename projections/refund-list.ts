import type { MerchantId, Mode, SessionId } from '../src/domain/ids.ts';
import type { Coin } from '../src/domain/money.ts';
import type { Network } from '../src/domain/networks.ts';
import type { Change } from '../src/ports/read-model.ts';
import { filteredList, filteredLists, listChanges } from './list-changes.ts';
import { REFUNDS_TABLE, type RefundRow, type RefundStatus } from './refund-row.ts';
import type { Moved } from './session-row.ts';

export const REFUND_LISTS = 'refunds@1/';

export interface RefundListFilters {
  readonly status?: RefundStatus;
  /** Any of its payouts. */
  readonly network?: Network;
  readonly coin?: Coin;
}

const scope = (mode: Mode, merchantId: MerchantId): string => `${REFUND_LISTS}${mode}/${merchantId}`;

export function refundList(mode: Mode, merchantId: MerchantId, { status, network, coin }: RefundListFilters): string {
  return filteredList(scope(mode, merchantId), [status, network, coin]);
}

/** Every list of the merchant that shows the refund. */
export function listsOfRefund({ mode, merchantId, status, payouts, coin }: RefundRow): string[] {
  return filteredLists(scope(mode, merchantId), [[status], [...new Set(payouts.map((payout) => payout.network))], [coin]]);
}

/** The session's own list. */
export const refundsOfSession = (sessionId: SessionId): string => `${REFUND_LISTS}of/${sessionId}`;

/** The refund's row and its places in the lists of the merchant and of the session. */
export function refundChanges({ before, after }: Moved<RefundRow>): Change[] {
  const { refundId: member, sessionId, order, sessionOrder, listedSec: atSec } = after;
  const changes: Change[] = [
    { op: 'put', table: REFUNDS_TABLE, key: member, row: after },
    ...listChanges({ member, order, atSec }, before ? listsOfRefund(before) : [], listsOfRefund(after)),
  ];
  if (!before) changes.push({ op: 'enlist', list: refundsOfSession(sessionId), member, order: sessionOrder, atSec });
  return changes;
}
