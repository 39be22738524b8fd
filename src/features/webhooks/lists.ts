import type { KeyObject } from 'node:crypto';
import type { MerchantId, Mode, SessionId } from '../../domain/ids.ts';
import type { WebhookType } from '../../domain/notification-types.ts';
import type { ListMember, ListRange, ReadModel } from '../../ports/read-model.ts';
import {
  DELIVERIES_TABLE,
  deliveriesOfSession,
  deliveryList,
  type DeliveryRow,
  type DeliveryStatus,
} from '../../../projections/webhooks/deliveries.projection.ts';
import type { AttemptFailure } from '../../domain/events/delivery-events.ts';
import { decodeCursor, encodeCursor, type CursorScope } from '../shared/list-cursor.ts';
import type { CursorPagination, PagePagination } from '../sessions/lists.ts';
import type { Outcome } from '../shared/merchant-api.ts';
import type { DeliverySummary } from './views.ts';

type Reader = { readonly merchantId: MerchantId; readonly mode: Mode };

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

export interface DeliveryListing {
  readonly rows: readonly DeliverySummary[];
  readonly pagination: PagePagination | CursorPagination;
}

/** A session has few deliveries, so further filters are applied in memory. */
const MAX_OF_SESSION = 1_000;

interface Source {
  page(offset: number, limit: number): Promise<{ members: readonly ListMember[]; total: number }>;
  before(before: number | null, limit: number): Promise<readonly ListMember[]>;
}

/** A merchant's deliveries, newest first. */
export class WebhookLists {
  readonly #readModel: ReadModel;
  readonly #cursorKey: KeyObject;

  constructor(readModel: ReadModel, cursorKey: KeyObject) {
    this.#readModel = readModel;
    this.#cursorKey = cursorKey;
  }

  async list(reader: Reader, request: DeliveryListRequest): Promise<Outcome<DeliveryListing>> {
    const source = await this.#source(reader, request);
    return request.cursor === undefined
      ? this.#page(reader, request, source)
      : this.#walk(reader, request, request.cursor, source);
  }

  async #page(reader: Reader, request: DeliveryListRequest, source: Source): Promise<Outcome<DeliveryListing>> {
    const { page, pageSize } = request;
    const { members, total } = await source.page((page - 1) * pageSize, pageSize);
    const hasMore = page * pageSize < total;
    const pagination: PagePagination = {
      page,
      page_size: pageSize,
      total,
      total_pages: Math.ceil(total / pageSize),
      has_more: hasMore,
      next_cursor: this.#cursorAfter(reader, request, members, hasMore),
    };
    return { ok: true, value: { rows: await this.#rows(members), pagination } };
  }

  async #walk(
    reader: Reader,
    request: DeliveryListRequest,
    cursor: string,
    source: Source,
  ): Promise<Outcome<DeliveryListing>> {
    const before = cursor === '' ? null : decodeCursor(this.#cursorKey, scopeOf(reader, request), cursor);
    if (before === null && cursor !== '') {
      return {
        ok: false,
        refusal: {
          code: 'invalid_request',
          message: 'the cursor does not belong to this list with these filters',
          param: 'cursor',
        },
      };
    }
    const found = await source.before(before, request.pageSize + 1);
    const members = found.slice(0, request.pageSize);
    const hasMore = found.length > members.length;
    const pagination: CursorPagination = {
      page_size: request.pageSize,
      has_more: hasMore,
      next_cursor: this.#cursorAfter(reader, request, members, hasMore),
    };
    return { ok: true, value: { rows: await this.#rows(members), pagination } };
  }

  async #source(
    reader: Reader,
    { status, eventType, sessionId, createdFromSec, createdToSec }: DeliveryListRequest,
  ): Promise<Source> {
    const range: ListRange = {
      ...(createdFromSec !== undefined && { fromSec: createdFromSec }),
      ...(createdToSec !== undefined && { toSec: createdToSec }),
    };
    if (sessionId === undefined) {
      const list = deliveryList(reader, {
        ...(status !== undefined && { status }),
        ...(eventType !== undefined && { eventType }),
      });
      return {
        page: (offset, limit) => this.#readModel.page(list, { offset, limit, ...range }),
        before: (before, limit) => this.#readModel.before(list, { before, limit, ...range }),
      };
    }
    const members = await this.#readModel.before(deliveriesOfSession(reader, sessionId), {
      before: null,
      limit: MAX_OF_SESSION,
      ...range,
    });
    const rows = await this.#read(members);
    const met = rows.filter(
      (row) =>
        (status === undefined || row.status === status) && (eventType === undefined || row.eventType === eventType),
    );
    const all = met.map(({ notificationId, order }) => ({ member: notificationId, order }));
    return {
      page: async (offset, limit) => ({ members: all.slice(offset, offset + limit), total: all.length }),
      before: async (before, limit) => all.filter(({ order }) => before === null || order < before).slice(0, limit),
    };
  }

  async #rows(members: readonly ListMember[]): Promise<DeliverySummary[]> {
    return (await this.#read(members)).map(
      ({
        notificationId,
        eventType,
        sessionId,
        endpointId,
        status,
        sample,
        attempts,
        lastStatus,
        lastFailure,
        nextAttemptAtMs,
        createdSec,
      }) => ({
        notificationId,
        eventType,
        sessionId,
        endpointId,
        status,
        sample,
        attempts,
        lastStatus,
        lastFailure: lastFailure as AttemptFailure | null,
        nextAttemptAtMs,
        createdSec,
      }),
    );
  }

  async #read(members: readonly ListMember[]): Promise<DeliveryRow[]> {
    const keys = members.map(({ member }) => member);
    const rows = await this.#readModel.getMany(DELIVERIES_TABLE, keys);
    return rows.filter((row) => row !== null);
  }

  #cursorAfter(
    reader: Reader,
    request: DeliveryListRequest,
    members: readonly ListMember[],
    hasMore: boolean,
  ): string | null {
    const last = members.at(-1);
    return hasMore && last ? encodeCursor(this.#cursorKey, scopeOf(reader, request), last.order) : null;
  }
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
