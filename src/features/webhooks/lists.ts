import type { KeyObject } from 'node:crypto';
import type { SessionId } from '../../domain/values/ids.ts';
import type { WebhookType } from '../../domain/notifications/types.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import {
  DELIVERIES_TABLE,
  deliveriesOfSession,
  deliveryList,
  type DeliveryRow,
  type DeliveryStatus,
} from '../../../projections/webhooks/deliveries.projection.ts';
import type { CursorScope } from '../shared/list-cursor.ts';
import { pageOf, type Listing } from '../shared/list-page.ts';
import { inMemory, storedList, type Source } from '../shared/list-source.ts';
import type { Outcome, Reader } from '../shared/merchant-api.ts';
import type { DeliverySummary } from './views.ts';

export interface DeliveryListRequest {
  readonly page: number;
  readonly pageSize: number;
  /** Present in cursor mode; empty for the first page. */
  readonly cursor?: string;
  readonly status?: DeliveryStatus;
  readonly eventType?: WebhookType;
  readonly sessionId?: SessionId;
  /** Unix seconds, inclusive. */
  readonly createdFromSec?: number;
  readonly createdToSec?: number;
}

/** A session has few deliveries, so further filters are applied in memory. */
const MAX_OF_SESSION = 1_000;

/** A merchant's deliveries, newest first. */
export class WebhookLists {
  readonly #readModel: ReadModel;
  readonly #cursorKey: KeyObject;

  constructor(readModel: ReadModel, cursorKey: KeyObject) {
    this.#readModel = readModel;
    this.#cursorKey = cursorKey;
  }

  async list(reader: Reader, request: DeliveryListRequest): Promise<Outcome<Listing<DeliverySummary>>> {
    const { page, pageSize, cursor } = request;
    const paging = cursor === undefined ? { page, pageSize } : { cursor, pageSize };
    const found = await pageOf(this.#cursorKey, scopeOf(reader, request), paging, await this.#source(reader, request));
    return found.ok ? { ...found, value: { ...found.value, rows: found.value.rows.map(summaryOf) } } : found;
  }

  async #source(
    reader: Reader,
    { status, eventType, sessionId, createdFromSec, createdToSec }: DeliveryListRequest,
  ): Promise<Source<DeliveryRow>> {
    const stored = (list: string): Source<DeliveryRow> =>
      storedList(this.#readModel, DELIVERIES_TABLE, list, createdFromSec, createdToSec);
    if (sessionId === undefined)
      return stored(
        deliveryList(reader, {
          ...(status !== undefined && { status }),
          ...(eventType !== undefined && { eventType }),
        }),
      );
    const ofSession = await stored(deliveriesOfSession(reader, sessionId)).before(null, MAX_OF_SESSION);
    return inMemory(
      ofSession.filter(
        ({ row }) =>
          (status === undefined || row.status === status) && (eventType === undefined || row.eventType === eventType),
      ),
    );
  }
}

function summaryOf(row: DeliveryRow): DeliverySummary {
  const { notificationId, eventType, sessionId, endpointId, status, sample } = row;
  const { attempts, lastStatus, lastFailure, nextAttemptAtMs, createdSec } = row;
  const of = { notificationId, eventType, sessionId, endpointId, status, sample };
  return { ...of, attempts, lastStatus, lastFailure, nextAttemptAtMs, createdSec };
}

function scopeOf(
  { merchantId, mode }: Reader,
  { status, eventType, sessionId, createdFromSec, createdToSec }: DeliveryListRequest,
): CursorScope {
  return {
    list: 'deliveries',
    merchantId,
    mode,
    filters: { status, eventType, sessionId, createdFromSec, createdToSec },
  };
}
