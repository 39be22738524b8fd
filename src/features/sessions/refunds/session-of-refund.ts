import { REFUNDS_TABLE } from '../../../../projections/sessions/refund-row.ts';
import { sessionView } from '../../../../projections/sessions/session-view.projection.ts';
import type { RefundId, SessionId } from '../../../domain/values/ids.ts';
import { StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import type { ReadModel } from '../../../ports/read-model/read-model.ts';
import { caughtUpWithLog, isBeingFilled, type FollowingOf } from '../../../runtime/projections/caught-up.ts';
import { projectionId } from '../../../runtime/projections/batch.ts';

export interface SessionOfRefundDeps extends FollowingOf {
  readonly readModel: Pick<ReadModel, 'get'>;
}

const ID = projectionId(sessionView);

/**
 * Finds the session of a refund; null if there is no such refund. Look-ups lag behind the event log and may be
 * rebuilding, so a missing row counts only when they are complete. Rejects with `StoreUnavailable` until then.
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
    const isThere = await caughtUpWithLog({ store, projections });
    if (!isThere || isBeingFilled(projections, ID)) throw new StoreUnavailable('the look-ups are behind the event log');
    return shown(id);
  };
}
