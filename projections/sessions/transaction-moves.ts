import type { DepositDetected, SessionEvent } from '../../src/domain/events/session-events.ts';
import type { RefundPayoutSigned } from '../../src/domain/events/refund-events.ts';
import type { SessionId, TransactionId } from '../../src/domain/values/ids.ts';
import { amountOf, formatAmount } from '../../src/domain/money/money.ts';
import type { RowReader } from '../../src/ports/read-model/projection.ts';
import type { Places } from './merchant-counters.ts';
import { legOf, type PayoutRow, type RefundRow } from './refund-row.ts';
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
import { must } from '../../src/domain/values/must.ts';

/** The transactions that an event creates or changes, with their places in the merchant's and the session's lists. */
export function movedTransactions(
  event: SessionEvent,
  session: SessionRow,
  refund: RefundRow | null,
  atSec: number,
  places: Places,
  read: RowReader,
): Moved<TransactionRow>[] {
  let made = 0;
  const find = (id: TransactionId): TransactionRow | null => read(TRANSACTIONS_TABLE, id);
  return transactionsOf(event, session, refund, find).map((facts) => {
    const before = find(facts.transactionId);
    if (before)
      return {
        before,
        after: { ...facts, createdSec: before.createdSec, order: before.order, sessionOrder: before.sessionOrder },
      };
    const { order, listedSec } = places.next('transactions', atSec);
    return { before, after: { ...facts, createdSec: listedSec, order, sessionOrder: session.transactions + made++ } };
  });
}

type Find = (id: TransactionId) => TransactionRow | null;

function transactionsOf(
  event: SessionEvent,
  session: SessionRow,
  refund: RefundRow | null,
  find: Find,
): TransactionFacts[] {
  const { sessionId } = session;
  switch (event.type) {
    case 'DepositDetected': {
      const id = depositTransactionId(sessionId, event.data.depositKey);
      return [withAside(seenDeposit(id, session, event.data, find), find(id)?.aside)];
    }
    case 'DepositConfirmed': {
      const row = known(find, depositTransactionId(sessionId, event.data.depositKey));
      return [withAside(confirmedDeposit(row, event.data), row.aside)];
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
      return [
        {
          ...seenDeposit(depositTransactionId(sessionId, event.data.depositKey), session, event.data, find),
          status: 'final',
        },
      ];
    case 'TransferCreditReversed':
      return [{ ...known(find, depositTransactionId(sessionId, event.data.depositKey)), status: 'reverted' }];
    case 'RefundRequested':
      return event.data.legs.flatMap((leg) => takenDeposits(sessionId, leg, 1n, find));
    case 'RefundPayoutSigned':
    case 'RefundPayoutReplaced':
      return [signed(session, must(refund), event.data)];
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
      const released = takenDeposits(sessionId, legOf(must(refund), legId), -1n, find);
      // A leg that failed before anything was signed moved no money.
      if (!payout) return released;
      return [
        ...released,
        { ...payout, status: 'failed' },
        ...feesOf(payout, feeTransactionId(sessionId, refundId, legId), event.data.networkFee),
      ];
    }
    default:
      return [];
  }
}

/** A transfer that returns after a reorganisation, or is attached again, keeps what refunds took of it. */
function seenDeposit(
  id: TransactionId,
  session: SessionRow,
  data: DepositDetected['data'],
  find: Find,
): TransactionFacts {
  const taken = find(id)?.taken;
  return { ...detectedDeposit(id, session, data), ...(taken !== undefined && { taken }) };
}

/** Takes a leg's money from its deposits (`sign` 1) or returns it (-1). */
function takenDeposits(
  sessionId: SessionId,
  { takenFrom }: Pick<PayoutRow, 'takenFrom'>,
  sign: 1n | -1n,
  find: Find,
): TransactionFacts[] {
  return takenFrom.map(({ depositKey, amount }) => {
    const row = known(find, depositTransactionId(sessionId, depositKey));
    return { ...row, taken: formatAmount(amountOf(row.taken ?? '0') + sign * amountOf(amount)) };
  });
}

function known(find: Find, id: TransactionId): TransactionRow {
  const row = find(id);
  if (!row) throw new Error(`transaction ${id} was never seen`);
  return row;
}

/** The payout as last signed; a replacement takes the place of its predecessor. */
function signed(session: SessionRow, refund: RefundRow, data: RefundPayoutSigned['data']): TransactionFacts {
  return signedPayout(
    payoutTransactionId(session.sessionId, data.refundId, data.legId),
    refund,
    legOf(refund, data.legId),
    data,
  );
}

const feesOf = (payout: TransactionFacts, id: TransactionId, fee: string | null): TransactionFacts[] =>
  fee === null || amountOf(fee) === 0n ? [] : [networkFee(id, payout, fee)];
