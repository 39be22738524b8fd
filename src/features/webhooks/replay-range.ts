import type { ReadModel } from '../../ports/read-model/read-model.ts';
import {
  DELIVERIES_TABLE,
  deliveryList,
  type DeliveryRow,
  type DeliveryStatus,
} from '../../../projections/webhooks/deliveries.projection.ts';
import type { Reader } from '../shared/merchant-api.ts';

export interface ReplayRange {
  /** Unix seconds, inclusive; up to now if `toSec` is absent. */
  readonly fromSec: number;
  readonly toSec?: number;
  readonly onlyUndelivered: boolean;
}

/** Maximum number of deliveries replayed by one request. */
export const MAX_REPLAY = 10_000;
const PAGE = 500;
const UNDELIVERED: readonly DeliveryStatus[] = ['exhausted', 'rejected', 'blocked'];

/** The deliveries in the range, oldest first; null if there are too many. */
export async function rowsToReplay(
  readModel: ReadModel,
  reader: Reader,
  range: ReplayRange,
): Promise<DeliveryRow[] | null> {
  const statuses = range.onlyUndelivered ? UNDELIVERED : [undefined];
  const rows: DeliveryRow[] = [];
  for (const status of statuses) {
    const list = deliveryList(reader, status === undefined ? {} : { status });
    for (let before: number | null = null; ;) {
      const options = {
        before,
        limit: PAGE,
        fromSec: range.fromSec,
        ...(range.toSec !== undefined && { toSec: range.toSec }),
      };
      const members = await readModel.before(list, options);
      const found = await readModel.getMany(
        DELIVERIES_TABLE,
        members.map(({ member }) => member),
      );
      rows.push(...found.filter((row) => row !== null).filter((row) => !row.sample));
      if (rows.length > MAX_REPLAY) return null;
      const last = members.at(-1);
      if (!last || members.length < PAGE) break;
      before = last.order;
    }
  }
  return rows.sort((one, other) => one.order - other.order);
}
