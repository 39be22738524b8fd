import { parseSessionId, type NotificationId } from '../../domain/values/ids.ts';
import { furtherEndpointOf, parseDeliveryId } from '../../domain/notifications/delivery-ids.ts';
import type { WebhookType } from '../../domain/notifications/types.ts';
import type { MerchantWebhooks } from '../../features/webhooks/webhooks.ts';
import { NOT_FOUND, answer } from '../answer.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { presentDelivery, presentDeliveryDetail, presentEvent } from '../presenters/delivery.presenter.ts';
import { PAGINATION_EXAMPLE } from '../schemas/list.example.ts';
import { DEFAULT_PAGE_SIZE } from '../schemas/list.schema.ts';
import {
  DELIVERY_DETAIL_EXAMPLE,
  DELIVERY_EXAMPLE,
  EVENT_FEED_EXAMPLE,
  REPLAY_EXAMPLE,
} from '../schemas/webhook.example.ts';
import {
  delivery,
  deliveryDetail,
  deliveryList,
  eventFeed,
  listDeliveriesQuery,
  listEventsQuery,
  replayBody,
  replayed,
  testWebhookBody,
} from '../schemas/webhook.schema.ts';
import { webhookEvent } from '../schemas/event-bodies.schema.ts';
import { refusedField } from '../validation.ts';
import { must } from '../../domain/values/must.ts';

/** A merchant's view of its webhooks. Anything that is not the caller's is `not_found` or null. */
export type WebhookApi = Pick<
  MerchantWebhooks,
  'list' | 'get' | 'redeliver' | 'replay' | 'sendSample' | 'events' | 'event' | 'eventsOf'
>;

const TAG = 'Webhooks';

const listDeliveriesOperation = {
  id: 'listWebhookDeliveries',
  method: 'get',
  path: '/v1/webhooks/deliveries',
  tag: TAG,
  scope: 'webhooks:manage',
  readsLookUps: true,
  summary: 'List webhook deliveries, newest first',
  description: 'One record per event and receiving endpoint, whatever its outcome; by page or by cursor.',
  query: listDeliveriesQuery,
  response: deliveryList,
  errors: ['invalid_request', 'unknown_field'],
  example: { response: { data: [DELIVERY_EXAMPLE], pagination: PAGINATION_EXAMPLE } },
} as const satisfies Operation;

const getDeliveryOperation = {
  id: 'getWebhookDelivery',
  method: 'get',
  path: '/v1/webhooks/deliveries/{id}',
  tag: TAG,
  scope: 'webhooks:manage',
  readsLookUps: true,
  summary: 'Get a webhook delivery with every attempt',
  description: 'What was sent, and for each attempt when, where to and the receiver’s answer.',
  response: deliveryDetail,
  errors: ['invalid_request', 'not_found'],
  example: { response: DELIVERY_DETAIL_EXAMPLE },
} as const satisfies Operation;

const redeliverOperation = {
  id: 'redeliverWebhook',
  method: 'post',
  path: '/v1/webhooks/deliveries/{id}/redeliver',
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'Send a webhook again',
  description: 'Sends the same event id and bytes with a fresh signature. Receivers deduplicate by event id.',
  response: delivery,
  errors: ['invalid_request', 'not_found', 'conflict', 'idempotency_conflict'],
  example: { response: { ...DELIVERY_EXAMPLE, status: 'pending' } },
} as const satisfies Operation;

const replayOperation = {
  id: 'replayWebhooks',
  method: 'post',
  path: '/v1/webhooks/replay',
  tag: TAG,
  scope: 'webhooks:manage',
  readsLookUps: true,
  summary: 'Send the webhooks of a time range again, in order',
  description:
    'For an integration that was down: sends what was not delivered, or everything, at the pace of a recovering endpoint.',
  body: replayBody,
  bodyRequired: true,
  response: replayed,
  errors: ['invalid_request', 'unknown_field', 'conflict', 'idempotency_conflict', 'service_unavailable'],
  example: { body: REPLAY_EXAMPLE, response: { requested: 12 } },
} as const satisfies Operation;

const testWebhookOperation = {
  id: 'testWebhook',
  method: 'post',
  path: '/v1/webhooks/test',
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'Send a sample event to one of your endpoints',
  description: 'Has the form of a real one, signed with your webhook secret; its delivery is marked as a sample.',
  body: testWebhookBody,
  bodyRequired: true,
  response: delivery,
  errors: ['invalid_request', 'unknown_field', 'conflict', 'idempotency_conflict'],
  example: {
    body: { event_type: 'payment.completed' },
    response: { ...DELIVERY_EXAMPLE, status: 'pending', sample: true, attempts: 0, last_status: null },
  },
} as const satisfies Operation;

const listEventsOperation = {
  id: 'listEvents',
  method: 'get',
  path: '/v1/events',
  tag: TAG,
  scope: 'payments:read',
  readsLookUps: true,
  summary: 'Fetch events instead of receiving them, oldest first',
  description:
    'The same events that your default endpoint receives, for an integration that was down or has no public address. With filters a page may hold fewer events than requested, or none, while there are more: continue with `next_cursor`. A cursor works with any filters.',
  query: listEventsQuery,
  response: eventFeed,
  errors: ['invalid_request', 'unknown_field'],
  example: { response: EVENT_FEED_EXAMPLE },
} as const satisfies Operation;

const getEventOperation = {
  id: 'getEvent',
  method: 'get',
  path: '/v1/events/{id}',
  scope: 'payments:read',
  readsLookUps: true,
  tag: TAG,
  summary: 'Get an event',
  description: 'Exactly as it was, or would have been, sent.',
  response: webhookEvent,
  errors: ['invalid_request', 'not_found'],
  example: { response: EVENT_FEED_EXAMPLE.data[0] },
} as const satisfies Operation;

/** The id of an event, which only the delivery to the default endpoint bears. */
function parseEventId(text: string): NotificationId | null {
  const id = parseDeliveryId(text);
  return id === null || furtherEndpointOf(id) !== null ? null : id;
}

export function webhookRoutes(api: WebhookApi): Route[] {
  return [...deliveryRoutes(api), ...replayRoutes(api)];
}

function deliveryRoutes(api: WebhookApi): Route[] {
  return [
    route(listDeliveriesOperation, async ({ caller, query }) => {
      const sessionId = query.session_id === undefined ? undefined : parseSessionId(query.session_id);
      if (sessionId === null) return refusedField('session_id', 'must be the id of a session');
      const outcome = await api.list(caller, {
        page: Number(query.page ?? 1),
        pageSize: Number(query.page_size ?? DEFAULT_PAGE_SIZE),
        ...(query.cursor !== undefined && { cursor: query.cursor }),
        ...(query.status !== undefined && { status: query.status }),
        ...(query.event_type !== undefined && { eventType: query.event_type }),
        ...(sessionId !== undefined && { sessionId }),
        ...(query.created_from !== undefined && { createdFromSec: Number(query.created_from) }),
        ...(query.created_to !== undefined && { createdToSec: Number(query.created_to) }),
      });
      return answerOf(outcome, ({ rows, pagination }) => ({ data: rows.map(presentDelivery), pagination }));
    }),
    route(getDeliveryOperation, async ({ caller, params }) => {
      const id = parseDeliveryId(must(params.id));
      const view = id === null ? null : await api.get(caller, id);
      return view === null ? NOT_FOUND : answer(presentDeliveryDetail(view));
    }),
    route(redeliverOperation, async ({ caller, params }) => {
      const id = parseDeliveryId(must(params.id));
      return id === null ? NOT_FOUND : answerOf(await api.redeliver(caller, id), presentDelivery);
    }),
  ];
}

function replayRoutes(api: WebhookApi): Route[] {
  return [
    route(replayOperation, async ({ caller, body }) => {
      const { created_from: fromSec, created_to: toSec } = body;
      if (toSec !== undefined && toSec < fromSec) return refusedField('created_to', 'must not be before created_from');
      const range = { fromSec, onlyUndelivered: body.only_undelivered ?? true, ...(toSec !== undefined && { toSec }) };
      return answerOf(await api.replay(caller, range), ({ requested }) => ({ requested }));
    }),
    route(testWebhookOperation, async ({ caller, body }) =>
      answerOf(await api.sendSample(caller, body.event_type, body.endpoint_id), presentDelivery),
    ),
    route(listEventsOperation, async ({ caller, query }) => {
      const pageSize = Number(query.page_size ?? DEFAULT_PAGE_SIZE);
      const [fromSec, toSec] = [query.created_from, query.created_to].map((text) =>
        text === undefined ? undefined : Number(text),
      );
      const types = query.type?.split(',') as WebhookType[] | undefined;
      if (fromSec !== undefined && toSec !== undefined && toSec < fromSec)
        return refusedField('created_to', 'must not be before created_from');
      const outcome = await api.events(caller, {
        pageSize,
        ...(query.cursor !== undefined && { cursor: query.cursor }),
        ...(types && { types }),
        ...(fromSec !== undefined && { createdFromSec: fromSec }),
        ...(toSec !== undefined && { createdToSec: toSec }),
      });
      return answerOf(outcome, ({ bodies, hasMore, nextCursor }) => ({
        data: bodies.map(presentEvent),
        pagination: { page_size: pageSize, has_more: hasMore, next_cursor: nextCursor },
      }));
    }),
    route(getEventOperation, async ({ caller, params }) => {
      const id = parseEventId(must(params.id));
      const body = id === null ? null : await api.event(caller, id);
      return body === null ? NOT_FOUND : answer(presentEvent(body));
    }),
  ];
}
