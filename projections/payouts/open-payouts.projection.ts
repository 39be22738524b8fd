import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import { sessionOfStream } from '../../src/domain/streams.ts';
import type { Projection } from '../../src/ports/projection.ts';
import type { RowChange, Row } from '../../src/ports/read-model.ts';

/** Refunds that still owe money, by id: what the payout process takes up again after a restart. */
export const OPEN_REFUNDS_TABLE = 'open-refunds@1';
/** Payouts by the second they landed, so that young ones can be watched until the chain cannot take them back. */
export const LANDED_PAYOUTS_TABLE = 'landed-payouts@1';

const SECOND_DIGITS = 12;

export const landedKey = (landedAtSec: number, legId: string): string => `${String(landedAtSec).padStart(SECOND_DIGITS, '0')}/${legId}`;

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
      return [{ op: 'put', table: OPEN_REFUNDS_TABLE, key: refundId, row: { sessionId, refundId } satisfies Row }];
    }
    case 'RefundPayoutLanded': {
      const { refundId, legId, landedAtSec } = event.data;
      return [{ op: 'put', table: LANDED_PAYOUTS_TABLE, key: landedKey(landedAtSec, legId), row: { sessionId, refundId, legId } satisfies Row }];
    }
    case 'RefundCompleted':
    case 'RefundFailed':
      return [{ op: 'delete', table: OPEN_REFUNDS_TABLE, key: event.data.refundId }];
    default:
      return [];
  }
}
