import { REFUNDS_TABLE } from '../../../projections/sessions/refund-row.ts';
import { sessionView } from '../../../projections/sessions/session-view.projection.ts';
import type { RefundId, SessionId } from '../../domain/ids.ts';
import { StoreUnavailable } from '../../ports/event-store.ts';
import type { ReadModel } from '../../ports/read-model.ts';
import { caughtUpWithLedger, isBeingFilled, type FollowingOf } from '../../runtime/projections/caught-up.ts';
import { projectionId } from '../../runtime/projections/batch.ts';

export interface SessionOfRefundDeps extends FollowingOf {
  readonly readModel: Pick<ReadModel, 'get'>;
}

const ID = projectionId(sessionView);

/**
 * Finds the session a refund belongs to; null when there is no such refund. Look-ups follow the ledger, and may be
 * built anew: that a row is missing says something only when they show all that is in the ledger. Rejects with
 * `StoreUnavailable` while they do not.
 */
export function createSessionOfRefund({
  store,
  projections,
  readModel,
}: SessionOfRefundDeps): (id: RefundId) => Promise<SessionId | null> {
  const shown = async (id: RefundId): Promise<SessionId | null> =>
    (await readModel.get(REFUNDS_TABLE, id))?.['sessionId'] ?? null;
  return async (id) => {
    const known = await shown(id);
    if (known !== null) return known;
    const isThere = await caughtUpWithLedger({ store, projections });
    if (!isThere || isBeingFilled(projections, ID)) throw new StoreUnavailable('the look-ups are behind the event log');
    return shown(id);
  };
}
