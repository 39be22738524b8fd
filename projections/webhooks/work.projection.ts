import { queueOf, type QueueId } from '../../src/domain/notifications/delivery-ids.ts';
import type { DeliveryAttempted, DeliveryEvent } from '../../src/domain/events/delivery-events.ts';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { MerchantId } from '../../src/domain/values/ids.ts';
import type { Projection, RowReader, RowRef } from '../../src/ports/read-model/projection.ts';
import type { Row, RowChange, Table } from '../../src/ports/read-model/read-model.ts';
import { isOfDelivery } from '../../src/domain/events/of-streams.ts';
import { DELIVERY_PREFIX, deliveryOfStream, MERCHANT_PREFIX } from '../../src/domain/values/streams.ts';

/** Every delivery that needs another attempt, by id, which is the order of the notifications. */
export const WEBHOOK_WORK_TABLE: Table<WebhookWorkRow> = 'webhook-work@1';
/** By endpoint: its failures since the last success. */
export const ENDPOINT_FAILURES_TABLE: Table<EndpointFailuresRow> = 'webhook-endpoint-failures@1';

export type WebhookWorkRow = {
  readonly queue: QueueId;
  readonly sessionId: string;
  /** When the next attempt is due; null for at once. */
  readonly dueAtMs: number | null;
  /** A redelivery was requested, and no attempt has answered that yet. */
  readonly redeliveryOwed: boolean;
};

/** Times are Unix milliseconds. */
export type EndpointFailuresRow = {
  /** The queue of the endpoint's deliveries. */
  readonly queue: QueueId;
  readonly failingSinceMs: number;
  readonly failures: number;
  /** Consecutive 410 answers. */
  readonly gone: number;
};

/**
 * Open work of the deliveries, for a process that takes them over from another. It contains at least every delivery
 * that needs an attempt; the delivery's own stream decides.
 */
export const webhookWork: Projection = {
  name: 'webhook-work',
  version: 1,
  streamPrefixes: [DELIVERY_PREFIX, MERCHANT_PREFIX],
  tables: [WEBHOOK_WORK_TABLE, ENDPOINT_FAILURES_TABLE],
  lists: [],
  needs,
  apply,
};

const endpointKey = (merchantId: MerchantId, endpointId: string): string => `${merchantId}/${endpointId}`;

function needs({ stream, event }: StoredEvent<DomainEvent>): RowRef[] {
  const key = deliveryOfStream(stream);
  if (key === null) return [];
  const work: RowRef = {
    table: WEBHOOK_WORK_TABLE,
    key,
    ...(event.type === 'DeliveryScheduled' && { isNew: true }),
  };
  return event.type === 'DeliveryAttempted' && event.data.endpointId !== null
    ? [work, { table: ENDPOINT_FAILURES_TABLE, key: endpointKey(event.data.merchantId, event.data.endpointId) }]
    : [work];
}

function apply(stored: StoredEvent<DomainEvent>, read: RowReader): RowChange[] {
  const { event } = stored;
  // The endpoint was replaced, or works again according to its merchant.
  if (event.type === 'WebhookEndpointSet' || event.type === 'WebhookEndpointResumed')
    return [
      { op: 'delete', table: ENDPOINT_FAILURES_TABLE, key: endpointKey(event.data.merchantId, event.data.endpointId) },
    ];
  const id = deliveryOfStream(stored.stream);
  if (id === null || !isOfDelivery(stored)) return [];
  const delivery = stored.event;
  const before = read(WEBHOOK_WORK_TABLE, id);
  const work = replaced(WEBHOOK_WORK_TABLE, id, before, workAfter(before, delivery));
  if (delivery.type !== 'DeliveryAttempted' || delivery.data.endpointId === null) return work;
  const key = endpointKey(delivery.data.merchantId, delivery.data.endpointId);
  const failures = read(ENDPOINT_FAILURES_TABLE, key);
  return [...work, ...replaced(ENDPOINT_FAILURES_TABLE, key, failures, failuresAfter(failures, delivery.data))];
}

function replaced(table: string, key: string, before: Row | null, after: Row | null): RowChange[] {
  if (before === after) return [];
  return [after === null ? { op: 'delete', table, key } : { op: 'put', table, key, row: after }];
}

/** Null if no further attempt is due. */
function workAfter(before: WebhookWorkRow | null, { type, data }: DeliveryEvent): WebhookWorkRow | null {
  switch (type) {
    case 'DeliveryScheduled':
      return { queue: queueOf(data), sessionId: data.sessionId, dueAtMs: null, redeliveryOwed: false };
    case 'RedeliveryRequested':
      return {
        queue: queueOf(data),
        sessionId: data.sessionId,
        dueAtMs: before?.dueAtMs ?? null,
        redeliveryOwed: true,
      };
    case 'DeliveryAttempted': {
      if (before === null) return null;
      const redeliveryOwed = before.redeliveryOwed && data.trigger !== 'manual';
      return redeliveryOwed || data.nextAttemptAtMs !== null
        ? { ...before, dueAtMs: data.nextAttemptAtMs, redeliveryOwed }
        : null;
    }
    case 'DeliverySucceeded':
      return null;
    case 'DeliveryBlocked':
      return before?.redeliveryOwed === true ? { ...before, dueAtMs: null } : null;
    case 'DeliveryExhausted':
    case 'DeliveryRejected':
      return before;
  }
}

/** The endpoint's failures after an attempt; null if there are none to remember. */
export function failuresAfter(
  before: EndpointFailuresRow | null,
  attempt: DeliveryAttempted['data'],
): EndpointFailuresRow | null {
  if (attempt.failure === null) return null;
  // The endpoint is not to blame for these.
  if (attempt.failure === 'no_endpoint') return before;
  const failingSinceMs = before?.failingSinceMs ?? attempt.startedAtMs;
  const gone = attempt.failure === 'gone' ? (before?.gone ?? 0) + 1 : 0;
  return { queue: queueOf(attempt), failingSinceMs, failures: (before?.failures ?? 0) + 1, gone };
}
