import { REFUNDS_TABLE } from '../../projections/refund-row.ts';
import type { RefundId, SessionId } from '../domain/ids.ts';
import { type EventStore, type Position, StoreUnavailable } from '../ports/event-store.ts';
import type { ReadModel } from '../ports/read-model.ts';

export interface SessionOfRefundDeps {
  readonly store: Pick<EventStore, 'head'>;
  readonly readModel: Pick<ReadModel, 'get'>;
  /** Whether the look-ups came as far as the position within a bounded time. */
  readonly caughtUpTo: (position: Position) => Promise<boolean>;
}

/**
 * Finds the session a refund belongs to; null when there is no such refund. Look-ups follow the ledger, and may be built anew: that a row is
 * missing says something only when they show all that is in the ledger. Rejects with `StoreUnavailable` while they do not.
 */
export function createSessionOfRefund({ store, readModel, caughtUpTo }: SessionOfRefundDeps): (id: RefundId) => Promise<SessionId | null> {
  const shown = async (id: RefundId): Promise<SessionId | null> =>
    ((await readModel.get(REFUNDS_TABLE, id))?.['sessionId'] as SessionId | undefined) ?? null;
  return async (id) => {
    const known = await shown(id);
    if (known !== null) return known;
    const head = await store.head();
    if (head !== null && !(await caughtUpTo(head))) throw new StoreUnavailable('the look-ups are behind the ledger');
    return shown(id);
  };
}
