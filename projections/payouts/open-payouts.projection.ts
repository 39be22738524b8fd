import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import { sessionOfStream } from '../../src/domain/values/streams.ts';
import type { Projection } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';
import type { RefundId, SessionId } from '../../src/domain/values/ids.ts';

/** Refunds that still owe money, by id, which the payout process loads after a restart. */
export const OPEN_REFUNDS_TABLE: Table<{ readonly sessionId: SessionId; readonly refundId: RefundId }> =
  'open-refunds@1';
/** Payouts by the second they landed, so that recent ones are watched until the chain cannot revert them. */
export const LANDED_PAYOUTS_TABLE: Table<{
  readonly sessionId: SessionId;
  readonly refundId: RefundId;
  readonly legId: string;
}> = 'landed-payouts@1';

const SECOND_DIGITS = 12;

export const landedKey = (landedAtSec: number, legId: string): string =>
  `${String(landedAtSec).padStart(SECOND_DIGITS, '0')}/${legId}`;

export const openPayouts: Projection = {
  name: 'open-payouts',
  version: 1,
  streamPrefixes: ['session-'],
  tables: [OPEN_REFUNDS_TABLE, LANDED_PAYOUTS_TABLE],
  lists: [],
  needs: () => [],
  apply,
};

function apply({ stream, event }: StoredEvent<DomainEvent>): RowChange[] {
  const sessionId = sessionOfStream(stream);
  if (sessionId === null) return [];
  switch (event.type) {
    case 'RefundRequested':
    case 'RefundPayoutReverted': {
      const { refundId } = event.data;
      return [putRow(OPEN_REFUNDS_TABLE, refundId, { sessionId, refundId })];
    }
    case 'RefundPayoutLanded': {
      const { refundId, legId, landedAtSec } = event.data;
      return [putRow(LANDED_PAYOUTS_TABLE, landedKey(landedAtSec, legId), { sessionId, refundId, legId })];
    }
    case 'RefundCompleted':
    case 'RefundFailed':
      return [{ op: 'delete', table: OPEN_REFUNDS_TABLE, key: event.data.refundId }];
    default:
      return [];
  }
}
