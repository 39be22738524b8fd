import { parseDeliveryId } from '../../domain/notifications/delivery-ids.ts';
import { must } from '../../domain/values/must.ts';
import { type Position, StoreUnavailable } from '../../ports/event-log/event-store.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { ENDPOINT_FAILURES_TABLE, WEBHOOK_WORK_TABLE } from '../../../projections/webhooks/work.projection.ts';
import type { Backlog } from './backlog.ts';

/** Hands deliveries over from one process to another. */
export interface TakeOver {
  /** Position up to which all consequences are recorded, according to previous holders; null if unknown. */
  handled(): Promise<Position | null>;
  /** Never waits and never throws. */
  tell(handled: Position): void;
  /** False if this process's look-ups do not reach the position within a bounded time. */
  caughtUpTo(position: Position): Promise<boolean>;
}

/**
 * Builds the backlog from this process's own look-ups, so that the event log need not be read again from where this
 * process last held the deliveries. Returns the position from which to read on.
 */
export async function takeOver(
  backlog: Backlog,
  {
    from,
    readModel,
    nowMs,
  }: { readonly from: TakeOver; readonly readModel: Pick<ReadModel, 'scan'>; readonly nowMs: number },
): Promise<Position | null> {
  const handled = await from.handled();
  if (handled !== null && !(await from.caughtUpTo(handled)))
    throw new StoreUnavailable('the look-ups are behind the deliveries being taken over');
  await backlog.clear();
  if (handled === null) return null;
  for await (const page of rowPages(readModel, WEBHOOK_WORK_TABLE))
    for (const { key, row } of page) {
      const { queue, sessionId, dueAtMs, redeliveryOwed } = row;
      const id = must(parseDeliveryId(key));
      if (redeliveryOwed || dueAtMs === null || dueAtMs <= nowMs) backlog.enqueue(id, queue, sessionId);
      else backlog.postpone({ id, queue, sessionId, seq: backlog.lastSeq }, null, dueAtMs);
      if (backlog.isCrowded) await backlog.flush(handled);
    }
  for await (const page of rowPages(readModel, ENDPOINT_FAILURES_TABLE))
    for (const { row } of page) backlog.putHealth(row.queue, row);
  await backlog.flush(handled);
  return handled;
}
