import type { RefundPayoutSigned, SessionEvent } from '../../src/domain/events/session-events.ts';
import type { TransactionId } from '../../src/domain/ids.ts';
import { amountOf } from '../../src/domain/money.ts';
import type { RowReader } from '../../src/ports/projection.ts';
import type { Places } from './merchant-counters.ts';
import { legOf, type RefundRow } from './refund-row.ts';
import type { Moved, SessionRow } from './session-row.ts';
import { depositTransactionId, feeTransactionId, payoutTransactionId } from './transaction-id.ts';
import {
  confirmedDeposit,
  detectedDeposit,
  networkFee,
  putBack,
  signedPayout,
  TRANSACTIONS_TABLE,
  type TransactionFacts,
  type TransactionRow,
  withAside,
} from './transaction-row.ts';

/** The transactions that an event makes or turns, with their places in the merchant's and the session's lists. */
export function movedTransactions(
  event: SessionEvent,
  session: SessionRow,
  refund: RefundRow | null,
  atSec: number,
  places: Places,
  read: RowReader,
): Moved<TransactionRow>[] {
  let made = 0;
  const find = (id: TransactionId): TransactionRow | null => read(TRANSACTIONS_TABLE, id) as TransactionRow | null;
  return transactionsOf(event, session, refund, find).map((facts) => {
    const before = find(facts.transactionId);
    if (before) return { before, after: { ...facts, createdSec: before.createdSec, order: before.order, sessionOrder: before.sessionOrder } };
    const { order, listedSec } = places.next('transactions', atSec);
    return { before, after: { ...facts, createdSec: listedSec, order, sessionOrder: session.transactions + made++ } };
  });
}

type Find = (id: TransactionId) => TransactionRow | null;

function transactionsOf(event: SessionEvent, session: SessionRow, refund: RefundRow | null, find: Find): TransactionFacts[] {
  const { sessionId } = session;
  switch (event.type) {
    case 'DepositDetected': {
      const id = depositTransactionId(sessionId, event.data.depositKey);
      return [withAside(detectedDeposit(id, session, event.data), find(id)?.aside)];
    }
    case 'DepositConfirmed': {
      const row = known(find, depositTransactionId(sessionId, event.data.depositKey));
      return [withAside(confirmedDeposit(row, session, event.data), row.aside)];
    }
    case 'DepositReverted': {
      const status = event.data.reason === 'failed' ? 'failed' : 'reverted';
      const row = known(find, depositTransactionId(sessionId, event.data.depositKey));
      return [withAside({ ...row, status }, row.aside)];
    }
    case 'DepositSetAside': {
      const row = known(find, depositTransactionId(sessionId, event.data.depositKey));
      return [withAside(row, row.status)];
    }
    case 'DepositPutBack':
      return [putBack(known(find, depositTransactionId(sessionId, event.data.depositKey)))];
    case 'TransferCredited':
      return [{ ...detectedDeposit(depositTransactionId(sessionId, event.data.depositKey), session, event.data), status: 'final' }];
    case 'TransferCreditReversed':
      return [{ ...known(find, depositTransactionId(sessionId, event.data.depositKey)), status: 'reverted' }];
    case 'RefundPayoutSigned':
    case 'RefundPayoutReplaced':
      return [signed(session, refund!, event.data)];
    case 'RefundPayoutLanded': {
      const { refundId, legId, txHash, blockNumber, blockTimeSec } = event.data;
      const payout = known(find, payoutTransactionId(sessionId, refundId, legId));
      const landed: TransactionFacts = { ...payout, status: 'final', txHash, blockNumber, blockTimeSec };
      return [landed, ...feesOf(landed, feeTransactionId(sessionId, refundId, legId), event.data.networkFee)];
    }
    case 'RefundPayoutReverted': {
      const { refundId, legId } = event.data;
      const fee = find(feeTransactionId(sessionId, refundId, legId));
      const payout = known(find, payoutTransactionId(sessionId, refundId, legId));
      return [payout, ...(fee ? [fee] : [])].map((row) => ({ ...row, status: 'reverted' }));
    }
    case 'RefundPayoutFailed': {
      const { refundId, legId } = event.data;
      const payout = find(payoutTransactionId(sessionId, refundId, legId));
      // A leg that failed before anything was signed moved no money.
      if (!payout) return [];
      return [{ ...payout, status: 'failed' }, ...feesOf(payout, feeTransactionId(sessionId, refundId, legId), event.data.networkFee)];
    }
    default:
      return [];
  }
}

function known(find: Find, id: TransactionId): TransactionRow {
  const row = find(id);
  if (!row) throw new Error(`transaction ${id} was never seen`);
  return row;
}

/** The payout as last signed: a replacement takes the place of what it replaces. */
function signed(session: SessionRow, refund: RefundRow, data: RefundPayoutSigned['data']): TransactionFacts {
  return signedPayout(payoutTransactionId(session.sessionId, data.refundId, data.legId), refund, legOf(refund, data.legId), data);
}

const feesOf = (payout: TransactionFacts, id: TransactionId, fee: string | null): TransactionFacts[] =>
  fee === null || amountOf(fee) === 0n ? [] : [networkFee(id, payout, fee)];
