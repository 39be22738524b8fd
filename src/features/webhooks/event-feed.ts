import { refuse } from '../../domain/values/result.ts';
import type { KeyObject } from 'node:crypto';
import type { NotificationId } from '../../domain/values/ids.ts';
import { decidedAtMs } from '../../domain/notifications/notifications.ts';
import type { WebhookType } from '../../domain/notifications/types.ts';
import { deliveryStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';
import type { ServedRows } from '../../runtime/projections/served-rows.ts';
import {
  DELIVERIES_TABLE,
  EVENT_FEED_TABLE,
  feedKey,
  feedOrder,
  feedPrefix,
  type DeliveryRow,
} from '../../../projections/webhooks/deliveries.projection.ts';
import { decodeCursor, encodeCursor, type CursorScope } from '../shared/list-cursor.ts';
import type { Outcome, Reader } from '../shared/merchant-api.ts';

/* A merchant's notifications, to be fetched in the order in which they were decided. */

export interface FeedRequest {
  readonly cursor?: string;
  readonly pageSize: number;
  /** All types if absent. */
  readonly types?: readonly WebhookType[];
  /** Unix seconds, inclusive. */
  readonly createdFromSec?: number;
  readonly createdToSec?: number;
}

export interface FeedPage {
  readonly bodies: readonly string[];
  readonly hasMore: boolean;
  readonly nextCursor: string;
}

interface FeedDeps {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly cursorKey: KeyObject;
  readonly servedRows: ServedRows;
}

/** Events examined per page of a filtered feed; the next page continues after them. */
const MAX_LOOKED_AT = 1_000;

export async function feedPage(
  { cursorKey, readModel, servedRows, store }: FeedDeps,
  reader: Reader,
  request: FeedRequest,
): Promise<Outcome<FeedPage>> {
  const scope: CursorScope = { list: 'events', merchantId: reader.merchantId, mode: reader.mode, filters: {} };
  const from = request.cursor ? decodeCursor(cursorKey, scope, request.cursor) : 0;
  if (from === null) return refuse('invalid_request', 'the cursor does not belong to this feed', 'cursor');
  await servedRows();
  const prefix = feedPrefix(reader);
  const isFiltered =
    request.types !== undefined || request.createdFromSec !== undefined || request.createdToSec !== undefined;
  const looked = isFiltered ? MAX_LOOKED_AT : request.pageSize;
  const scanned = await readModel.scan(EVENT_FEED_TABLE, {
    afterKey: from === 0 ? prefix : feedKey(reader, from - 1),
    limit: looked + 1,
  });
  const own = scanned
    .filter(({ key }) => key.startsWith(prefix))
    .map(({ key, row }) => ({ key, id: row.notificationId }));
  const isWanted = isFiltered ? await wantedOf(readModel, own, request) : () => true;
  const page: NotificationId[] = [];
  let next = from;
  let seen = 0;
  for (const { key, id } of own.slice(0, looked)) {
    if (page.length === request.pageSize) break;
    if (isWanted(id)) page.push(id);
    next = feedOrder(key) + 1;
    seen += 1;
  }
  const bodies = await Promise.all(page.map((id) => bodyOf(store, id)));
  return {
    ok: true,
    value: { bodies, hasMore: own.length > seen, nextCursor: encodeCursor(cursorKey, scope, next) },
  };
}

/** Filters by the deliveries' rows, so that only the bodies of returned events are read. */
async function wantedOf(
  readModel: ReadModel,
  listed: readonly { readonly id: NotificationId }[],
  request: FeedRequest,
): Promise<(id: NotificationId) => boolean> {
  const { types, createdFromSec = -Infinity, createdToSec = Infinity } = request;
  const ids = listed.map(({ id }) => id);
  const rows = await readModel.getMany(DELIVERIES_TABLE, ids);
  const isOfType = ({ eventType }: DeliveryRow): boolean =>
    types === undefined || types.some((type) => type === eventType);
  const isInTime = (id: NotificationId): boolean => {
    const createdSec = toSec(decidedAtMs(id));
    return createdSec >= createdFromSec && createdSec <= createdToSec;
  };
  const wanted = new Set(ids.filter((id, index) => rows[index] && isOfType(rows[index]) && isInTime(id)));
  return (id) => wanted.has(id);
}

async function bodyOf(store: EventStore, id: NotificationId): Promise<string> {
  const [first] = await store.readStream(deliveryStream(id), { from: 0, limit: 1 });
  const event = first && decodeEvent(first).event;
  if (event?.type !== 'DeliveryScheduled') throw new Error(`delivery ${id} is listed but was never scheduled`);
  return event.data.body;
}
