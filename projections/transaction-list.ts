import type { MerchantId, Mode, SessionId } from '../src/domain/ids.ts';
import type { Network } from '../src/domain/networks.ts';
import type { Change } from '../src/ports/read-model.ts';
import { filteredList, filteredLists, listChanges } from './list-changes.ts';
import type { Moved } from './session-row.ts';
import { TRANSACTIONS_TABLE, type TransactionRow, type TransactionStatus, type TransactionType } from './transaction-row.ts';

export const TRANSACTION_LISTS = 'transactions@1/';

export interface TransactionListFilters {
  readonly status?: TransactionStatus;
  readonly type?: TransactionType;
  readonly network?: Network;
  /** USDT, USDC or a network's native coin. */
  readonly coin?: string;
}

const scope = (mode: Mode, merchantId: MerchantId): string => `${TRANSACTION_LISTS}${mode}/${merchantId}`;

export function transactionList(mode: Mode, merchantId: MerchantId, { status, type, network, coin }: TransactionListFilters): string {
  return filteredList(scope(mode, merchantId), [status, type, network, coin]);
}

/** Every list of the merchant that shows the transaction. */
export function listsOfTransaction({ mode, merchantId, status, type, network, coin }: TransactionRow): string[] {
  return filteredLists(scope(mode, merchantId), [[status], [type], [network], [coin]]);
}

/** The session's own list: every transaction that names it. */
export const transactionsOfSession = (sessionId: SessionId): string => `${TRANSACTION_LISTS}of/${sessionId}`;

/** The transaction's row and its places in the lists of the merchant and of the session. */
export function transactionChanges({ before, after }: Moved<TransactionRow>): Change[] {
  const { transactionId: member, sessionId, order, sessionOrder, createdSec: atSec } = after;
  const changes: Change[] = [
    { op: 'put', table: TRANSACTIONS_TABLE, key: member, row: after },
    ...listChanges({ member, order, atSec }, before ? listsOfTransaction(before) : [], listsOfTransaction(after)),
  ];
  if (!before) changes.push({ op: 'enlist', list: transactionsOfSession(sessionId), member, order: sessionOrder, atSec });
  return changes;
}
