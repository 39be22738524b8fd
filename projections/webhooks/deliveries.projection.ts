import { furtherEndpointOf } from '../../src/domain/notifications/delivery-ids.ts';
import type { AttemptFailure, DeliveryEvent, DeliveryScheduled } from '../../src/domain/events/delivery-events.ts';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import { isOfDelivery } from '../../src/domain/events/of-streams.ts';
import type { MerchantId, Mode, NotificationId } from '../../src/domain/values/ids.ts';
import {
  ofRows,
  type ListPlace,
  type Projection,
  type RowReader,
  type RowRef,
} from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';
import { filteredList, filteredLists } from '../shared/filtered-lists.ts';
import { DELIVERY_PREFIX, deliveryOfStream } from '../../src/domain/values/streams.ts';

export const DELIVERIES_TABLE: Table<DeliveryRow> = 'webhook-deliveries@1';
const DELIVERY_LISTS = 'webhook-deliveries@1/';
/** Every event for a merchant's default endpoint in order, without samples, which the pull feed walks. */
export const EVENT_FEED_TABLE: Table<EventFeedRow> = 'webhook-event-feed@1';
const COUNTERS_TABLE: Table<CountersRow> = 'webhook-delivery-counters@1';

export type DeliveryStatus = 'pending' | 'delivered' | 'exhausted' | 'rejected' | 'blocked';

export type DeliveryRow = {
  readonly notificationId: NotificationId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly eventType: string;
  readonly sessionId: string;
  /** Empty when the merchant had none. */
  readonly endpointId: string;
  readonly sample: boolean;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastFailure: AttemptFailure | null;
  readonly nextAttemptAtMs: number | null;
  readonly createdSec: number;
  /** Place in the merchant's lists, gapless from 0. */
  readonly order: number;
  /** Unix seconds under which the delivery is listed; never decreases within a list. */
  readonly listedSec: number;
};

export type EventFeedRow = { readonly notificationId: NotificationId };

type CountersRow = { readonly next: number; readonly lastSec: number };

interface Owner {
  readonly mode: Mode;
  readonly merchantId: MerchantId;
}

const ORDER_DIGITS = 12;

const ownerKey = ({ mode, merchantId }: Owner): string => `${mode}/${merchantId}`;
/** Prefix of every key of the merchant's feed. */
export const feedPrefix = (owner: Owner): string => `${ownerKey(owner)}/`;
export const feedKey = (owner: Owner, order: number): string =>
  `${feedPrefix(owner)}${String(order).padStart(ORDER_DIGITS, '0')}`;
export const feedOrder = (key: string): number => Number(key.slice(-ORDER_DIGITS));

export interface DeliveryListFilters {
  readonly status?: DeliveryStatus;
  readonly eventType?: string;
}

export const deliveryList = (owner: Owner, { status, eventType }: DeliveryListFilters): string =>
  filteredList(`${DELIVERY_LISTS}${ownerKey(owner)}`, [status, eventType]);

/** The deliveries of one session. */
export const deliveriesOfSession = (owner: Owner, sessionId: string): string =>
  `${DELIVERY_LISTS}${ownerKey(owner)}/of/${sessionId}`;

/** A merchant's view of its webhooks: every delivery with its status, and the feed of events. */
export const webhookDeliveries: Projection = {
  name: 'webhook-deliveries',
  version: 1,
  streamPrefixes: [DELIVERY_PREFIX],
  tables: [DELIVERIES_TABLE, EVENT_FEED_TABLE, COUNTERS_TABLE],
  lists: [DELIVERY_LISTS],
  listed: ofRows(DELIVERIES_TABLE, placesOf),
  archived: ofRows(DELIVERIES_TABLE, ({ createdSec, status }) => ({
    beganSec: createdSec,
    endedSec: status === 'pending' ? null : createdSec,
  })),
  needs,
  apply,
};

function needs({ stream, event }: StoredEvent<DomainEvent>): RowRef[] {
  const id = deliveryOfStream(stream);
  if (id === null) return [];
  if (event.type !== 'DeliveryScheduled') return [{ table: DELIVERIES_TABLE, key: id }];
  return [
    { table: DELIVERIES_TABLE, key: id, isNew: true },
    { table: COUNTERS_TABLE, key: ownerKey(event.data) },
  ];
}

function apply(stored: StoredEvent<DomainEvent>, read: RowReader): RowChange[] {
  const id = deliveryOfStream(stored.stream);
  if (id === null || !isOfDelivery(stored)) return [];
  const { event } = stored;
  if (event.type === 'DeliveryScheduled') return scheduled(event.data, read);
  const before = read(DELIVERIES_TABLE, id);
  if (!before) throw new Error(`delivery ${id} was never scheduled`);
  return [put({ ...before, ...folded(event) })];
}

function scheduled(data: DeliveryScheduled['data'], read: RowReader): RowChange[] {
  const key = ownerKey(data);
  const counters = read(COUNTERS_TABLE, key) ?? { next: 0, lastSec: 0 };
  const createdSec = Math.floor(data.scheduledAtMs / 1000);
  const { notificationId, merchantId, mode, eventType, sessionId, endpointId, sample = false } = data;
  const row: DeliveryRow = {
    notificationId,
    merchantId,
    mode,
    eventType,
    sessionId,
    endpointId,
    sample,
    status: 'pending',
    attempts: 0,
    lastStatus: null,
    lastFailure: null,
    nextAttemptAtMs: null,
    createdSec,
    order: counters.next,
    listedSec: Math.max(createdSec, counters.lastSec),
  };
  const feed: EventFeedRow = { notificationId };
  return [
    putRow(COUNTERS_TABLE, key, { next: row.order + 1, lastSec: row.listedSec }),
    ...(sample || furtherEndpointOf(notificationId) !== null
      ? []
      : [putRow(EVENT_FEED_TABLE, feedKey(data, row.order), feed)]),
    put(row),
  ];
}

function folded(event: Exclude<DeliveryEvent, DeliveryScheduled>): Partial<DeliveryRow> {
  switch (event.type) {
    case 'DeliveryAttempted': {
      const { attempt, status, failure, nextAttemptAtMs } = event.data;
      return { attempts: attempt, lastStatus: status, lastFailure: failure, nextAttemptAtMs };
    }
    case 'DeliverySucceeded':
      return { status: 'delivered', nextAttemptAtMs: null };
    case 'DeliveryExhausted':
      return { status: 'exhausted' };
    case 'DeliveryRejected':
      return { status: 'rejected' };
    case 'DeliveryBlocked':
      return { status: 'blocked', nextAttemptAtMs: null };
    case 'RedeliveryRequested':
      return { status: 'pending' };
  }
}

const put = (row: DeliveryRow): RowChange => putRow(DELIVERIES_TABLE, row.notificationId, row);

function placesOf(row: DeliveryRow): ListPlace[] {
  const { order, listedSec: atSec } = row;
  const lists = filteredLists(`${DELIVERY_LISTS}${ownerKey(row)}`, [[row.status], [row.eventType]]);
  return [
    { lists, order, atSec },
    { lists: [deliveriesOfSession(row, row.sessionId)], order, atSec },
  ];
}
