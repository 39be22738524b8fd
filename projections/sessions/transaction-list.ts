import type { MerchantId, Mode, SessionId } from '../../src/domain/values/ids.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { ListPlace } from '../../src/ports/read-model/projection.ts';
import { filteredList, filteredLists } from '../shared/filtered-lists.ts';
import type { TransactionRow, TransactionStatus, TransactionType } from './transaction-row.ts';

export const TRANSACTION_LISTS = 'transactions@1/';

export interface TransactionListFilters {
  readonly status?: TransactionStatus;
  readonly type?: TransactionType;
  readonly network?: Network;
  /** USDT, USDC or a network's native coin. */
  readonly coin?: string;
}

const scope = (mode: Mode, merchantId: MerchantId): string => `${TRANSACTION_LISTS}${mode}/${merchantId}`;

export function transactionList(
  mode: Mode,
  merchantId: MerchantId,
  { status, type, network, coin }: TransactionListFilters,
): string {
  return filteredList(scope(mode, merchantId), [status, type, network, coin]);
}

/** The session's own list: its transactions except the first one, which the session's row names. */
export const transactionsOfSession = (sessionId: SessionId): string => `${TRANSACTION_LISTS}of/${sessionId}`;

/** Every list that shows the transaction: those of the merchant and, except for the first one, that of the session. */
export function placesOfTransaction(row: TransactionRow): ListPlace[] {
  const { mode, merchantId, status, type, network, coin, order, sessionOrder, createdSec: atSec } = row;
  const lists = filteredLists(scope(mode, merchantId), [[status], [type], [network], [coin]]);
  const ofMerchant = { lists, order, atSec };
  return sessionOrder === 0
    ? [ofMerchant]
    : [ofMerchant, { lists: [transactionsOfSession(row.sessionId)], order: sessionOrder, atSec }];
}
