import { describe, expect, it } from 'vitest';
import type { RefundId } from '../../../../../src/domain/values/ids.ts';
import { StoreUnavailable } from '../../../../../src/ports/event-log/event-store.ts';
import type { Row, ReadModel } from '../../../../../src/ports/read-model/read-model.ts';
import { sessionView } from '../../../../../projections/sessions/session-view.projection.ts';
import { projectionId } from '../../../../../src/runtime/projections/batch.ts';
import { createSessionOfRefund } from '../../../../../src/features/sessions/refunds/session-of-refund.ts';

const REFUND = 're_1' as RefundId;
const ROW: Row = { sessionId: 'cs_1' };

function lookUps({ rows, catchUp, isFilled = true }: { rows: Row[]; catchUp: () => boolean; isFilled?: boolean }) {
  return createSessionOfRefund({
    store: { head: async () => '7' },
    readModel: { get: (async () => rows[0] ?? null) as ReadModel['get'] },
    projections: {
      caughtUpTo: async (position) => {
        expect(position).toBe('7');
        return catchUp();
      },
      status: () => [
        { projection: projectionId(sessionView), position: null, hasCaughtUp: isFilled, lagEvents: 0, lagSec: 0 },
      ],
    },
  });
}

describe('the session of a refund', () => {
  it('is known at once when the look-ups show it', async () => {
    const find = lookUps({ rows: [ROW], catchUp: () => expect.unreachable() });
    expect(await find(REFUND)).toBe('cs_1');
  });

  it('is waited for if the refund was requested a moment ago', async () => {
    const rows: Row[] = [];
    const find = lookUps({ rows, catchUp: () => rows.push(ROW) === 1 });
    expect(await find(REFUND)).toBe('cs_1');
  });

  it('is unknown once the look-ups show all of the event log', async () => {
    expect(await lookUps({ rows: [], catchUp: () => true })(REFUND)).toBeNull();
  });

  it('is not denied while the look-ups are rebuilt', async () => {
    await expect(lookUps({ rows: [], catchUp: () => false })(REFUND)).rejects.toThrow(StoreUnavailable);
    // Others show all there is, but these are of a new version.
    await expect(lookUps({ rows: [], catchUp: () => true, isFilled: false })(REFUND)).rejects.toThrow(StoreUnavailable);
  });
});
