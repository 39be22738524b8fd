import type { NotificationId } from '../../domain/ids.ts';
import { type Position, StoreUnavailable } from '../../ports/event-store.ts';
import { rowPages } from '../../ports/row-pages.ts';
import type { ReadModel } from '../../ports/read-model.ts';
import { ENDPOINT_FAILURES_TABLE, WEBHOOK_WORK_TABLE } from '../../../projections/webhooks/work.projection.ts';
import type { Backlog } from './backlog.ts';

/** How deliveries go from one process to another. */
export interface TakeOver {
  /** Up to where everything is in the log that follows from it, as the holders so far told; null when nobody knows. */
  handled(): Promise<Position | null>;
  /** Never waits and never throws. */
  tell(handled: Position): void;
  /** False when the look-ups of this process do not show everything up to the position in a bounded time. */
  caughtUpTo(position: Position): Promise<boolean>;
}

/**
 * Makes the backlog of what this process' own look-ups say has still to be done, so that the log need not be read again
 * from where this process held the deliveries last. Answers from where it is read on.
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
      const id = key as NotificationId;
      if (redeliveryOwed || dueAtMs === null || dueAtMs <= nowMs) backlog.enqueue(id, queue, sessionId);
      else backlog.postpone({ id, queue, sessionId, seq: backlog.lastSeq }, null, dueAtMs);
      if (backlog.isCrowded) await backlog.flush(handled);
    }
  for await (const page of rowPages(readModel, ENDPOINT_FAILURES_TABLE))
    for (const { row } of page) backlog.putHealth(row.queue, row);
  await backlog.flush(handled);
  return handled;
}
