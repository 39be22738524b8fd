import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import { sessionOfStream } from '../../src/domain/values/streams.ts';
import {
  ofRows,
  type Projection,
  type RowReader,
  type RowRef,
  type RowTime,
} from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange } from '../../src/ports/read-model/read-model.ts';
import { DUE_SESSIONS_TABLE, dueChanges } from './due-sessions.ts';
import { COUNTERS_TABLE, countersKey, Places } from './merchant-counters.ts';
import { placesOfRefund, REFUND_LISTS } from './refund-list.ts';
import { legOf, movedRefund, REFUNDS_TABLE, type PayoutRow } from './refund-row.ts';
import { TOTALS_TABLE, totalsChanges, totalsKey } from './payment-totals.ts';
import { ORDERS_TABLE, placesOfSession, SESSION_LISTS, sessionChanges } from './session-list.ts';
import { SESSIONS_TABLE, type SessionDraft, type SessionRow } from './session-row.ts';
import { settle, countRefund, countTransaction, foldSession, sessionRowOf } from './session-fold.ts';
import { depositTransactionId, feeTransactionId, payoutTransactionId } from './transaction-id.ts';
import { placesOfTransaction, TRANSACTION_LISTS } from './transaction-list.ts';
import { movedTransactions } from './transaction-moves.ts';
import { TRANSACTIONS_TABLE } from './transaction-row.ts';
import { isOfSession } from '../../src/domain/events/of-streams.ts';
import { must } from '../../src/domain/values/must.ts';

/**
 * The look-ups of sessions for merchants and workers: the session, its transactions, its refunds, their lists and
 * totals, and the deadlines. It is one projection, so that all of them change in one step: a list never names a missing
 * record, and a session's sums agree with its transactions.
 */
export const sessionView: Projection = {
  name: 'session-view',
  version: 1,
  streamPrefixes: ['session-'],
  tables: [
    SESSIONS_TABLE,
    TRANSACTIONS_TABLE,
    REFUNDS_TABLE,
    ORDERS_TABLE,
    COUNTERS_TABLE,
    DUE_SESSIONS_TABLE,
    TOTALS_TABLE,
  ],
  lists: [SESSION_LISTS, TRANSACTION_LISTS, REFUND_LISTS],
  listed: {
    ...ofRows(SESSIONS_TABLE, placesOfSession),
    ...ofRows(TRANSACTIONS_TABLE, placesOfTransaction),
    ...ofRows(REFUNDS_TABLE, placesOfRefund),
  },
  archived: {
    ...ofRows(SESSIONS_TABLE, timeOfSession),
    ...ofRows(TRANSACTIONS_TABLE, ({ createdSec, status }) => ({
      beganSec: createdSec,
      endedSec: status === 'detected' ? null : createdSec,
    })),
    ...ofRows(REFUNDS_TABLE, ({ createdSec, updatedSec, status }) => ({
      beganSec: createdSec,
      endedSec: status === 'COMPLETED' || status === 'FAILED' ? updatedSec : null,
    })),
  },
  needs,
  needsThen,
  apply,
};

function timeOfSession({ createdAtSec, expiresAtSec, paidAtSec, status, pendingCount }: SessionRow): RowTime {
  const isOpen = status === 'open' || status === 'processing' || pendingCount > 0;
  return { beganSec: createdAtSec, endedSec: isOpen ? null : Math.max(expiresAtSec, paidAtSec ?? 0) };
}

function needs(stored: StoredEvent<DomainEvent>): RowRef[] {
  const id = sessionOfStream(stored.stream);
  if (id === null || !isOfSession(stored)) return [];
  const { event } = stored;
  if (event.type === 'SessionCreated') return [{ table: SESSIONS_TABLE, key: id, isNew: true }, countersOf(event.data)];
  const refs: RowRef[] = [{ table: SESSIONS_TABLE, key: id }];
  const { data } = event;
  if ('depositKey' in data) refs.push({ table: TRANSACTIONS_TABLE, key: depositTransactionId(id, data.depositKey) });
  if ('refundId' in data) refs.push({ table: REFUNDS_TABLE, key: data.refundId });
  if (event.type === 'RefundRequested') refs.push(...event.data.legs.flatMap((leg) => depositsOf(id, leg)));
  if ('legId' in data) {
    refs.push({ table: TRANSACTIONS_TABLE, key: payoutTransactionId(id, data.refundId, data.legId) });
    refs.push({ table: TRANSACTIONS_TABLE, key: feeTransactionId(id, data.refundId, data.legId) });
  }
  return refs;
}

function needsThen({ stream, event }: StoredEvent<DomainEvent>, read: RowReader): RowRef[] {
  const id = sessionOfStream(stream);
  if (id === null) return [];
  if (event.type === 'SessionCreated') {
    const places = new Places(read(COUNTERS_TABLE, countersOf(event.data).key));
    const { listedSec } = places.next('sessions', event.data.createdAtSec);
    return [totalsOf({ ...event.data, listedSec })];
  }
  const session = read(SESSIONS_TABLE, id);
  if (!session) return [];
  const refs = [countersOf(session), totalsOf(session)];
  if (event.type !== 'RefundPayoutFailed') return refs;
  const refund = read(REFUNDS_TABLE, event.data.refundId);
  return refund ? [...refs, ...depositsOf(id, legOf(refund, event.data.legId))] : refs;
}

const countersOf = ({ mode, merchantId }: Pick<SessionRow, 'mode' | 'merchantId'>): RowRef => ({
  table: COUNTERS_TABLE,
  key: countersKey(mode, merchantId),
});

const totalsOf = (row: Parameters<typeof totalsKey>[0]): RowRef => ({ table: TOTALS_TABLE, key: totalsKey(row) });

/** The deposits that fund the leg. */
const depositsOf = (id: SessionId, { takenFrom }: Pick<PayoutRow, 'takenFrom'>): RowRef[] =>
  takenFrom.map(({ depositKey }) => ({ table: TRANSACTIONS_TABLE, key: depositTransactionId(id, depositKey) }));

function apply(stored: StoredEvent<DomainEvent>, read: RowReader): RowChange[] {
  const id = sessionOfStream(stored.stream);
  if (id === null || !isOfSession(stored)) return [];
  const { event } = stored;
  const before = read(SESSIONS_TABLE, id);
  const owner = event.type === 'SessionCreated' ? event.data : before;
  if (!owner) throw new Error(`session ${id} was never created`);
  const key = countersKey(owner.mode, owner.merchantId);
  const places = new Places(read(COUNTERS_TABLE, key));
  const changes =
    event.type === 'SessionCreated'
      ? created(event.data, places, read)
      : changed(must(before), event, Math.floor(stored.atMs / 1000), places, read);
  return places.counters === places.before ? changes : [...changes, putRow(COUNTERS_TABLE, key, places.counters)];
}

function created(
  data: Extract<SessionEvent, { type: 'SessionCreated' }>['data'],
  places: Places,
  read: RowReader,
): RowChange[] {
  const session = sessionRowOf(data, places.next('sessions', data.createdAtSec));
  return [...sessionChanges(null, session), ...dueChanges(null, session), ...totalsChanges(null, session, read)];
}

function changed(before: SessionRow, event: SessionEvent, atSec: number, places: Places, read: RowReader): RowChange[] {
  const refund = movedRefund(event, before, places, read);
  const transactions = movedTransactions(event, before, refund?.after ?? null, atSec, places, read);
  const draft: SessionDraft = { ...before };
  foldSession(draft, event);
  for (const moved of transactions) countTransaction(draft, moved);
  if (refund) countRefund(draft, refund);
  const session = settle(draft);
  const changes = [
    ...sessionChanges(before, session),
    ...dueChanges(before, session),
    ...totalsChanges(before, session, read),
  ];
  for (const { after } of transactions) changes.push(putRow(TRANSACTIONS_TABLE, after.transactionId, after));
  if (refund) changes.push(putRow(REFUNDS_TABLE, refund.after.refundId, refund.after));
  return changes;
}
