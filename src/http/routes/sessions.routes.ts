import type { Caller, MerchantApi } from '../../features/shared/merchant-api.ts';
import type { SessionView } from '../../features/shared/views.ts';
import { parseSessionId } from '../../domain/values/ids.ts';
import { NOT_FOUND, answer } from '../answer.ts';
import type { TimelineReader } from './timeline.routes.ts';
import type { WebhookApi } from './webhooks.routes.ts';
import { presentEvent } from '../presenters/delivery.presenter.ts';
import type { RefundPresenter } from '../presenters/refund.presenter.ts';
import { presentTimeline } from '../presenters/timeline.presenter.ts';
import { asked, expandedSession, getSessionQuery, MAX_EXPANDED_EVENTS } from '../schemas/expand.schema.ts';
import { answerOf } from '../answer-of.ts';
import { createInput } from './create-input.ts';
import { route, type Operation, type Route } from '../operation.ts';
import type { SessionPresenter } from '../presenters/session.presenter.ts';
import { cancelSessionBody, cancelledSession, createSessionBody, paymentSession } from '../schemas/session.schema.ts';
import { CANCELLED_SESSION_EXAMPLE, CREATE_SESSION_EXAMPLE, SESSION_EXAMPLE } from '../schemas/session.example.ts';
import { must } from '../../domain/values/must.ts';

const createSessionOperation = {
  id: 'createPaymentSession',
  method: 'post',
  path: '/api/v1/checkout/sessions/create',
  tag: 'Payment sessions',
  scope: 'payments:create',
  summary: 'Create a payment session',
  description:
    'Repeating the same body with the same `order_id` returns the same session, so a create may be retried at any time. Once that session has ended unpaid, the request is refused with `session_expired`, which names the session to supersede.',
  body: createSessionBody,
  bodyRequired: true,
  response: paymentSession,
  errors: [
    ...([
      'invalid_request',
      'unknown_field',
      'line_items_mismatch',
      'session_expired',
      'order_id_conflict',
      'conflict',
      'idempotency_conflict',
    ] as const),
    ...(['rate_unavailable', 'clock_in_doubt', 'addresses_unconfirmed', 'service_unavailable'] as const),
  ],
  nonceRidesWithCommand: true,
  example: { body: CREATE_SESSION_EXAMPLE, response: SESSION_EXAMPLE },
} as const satisfies Operation;

const getSessionOperation = {
  id: 'getPaymentSession',
  method: 'get',
  path: '/api/v1/checkout/sessions/{id}',
  tag: 'Payment sessions',
  scope: 'payments:read',
  summary: 'Get a payment session',
  description:
    'Accepts ids with the prefix `cs_` or `sess_`. `expand` includes what would otherwise take further requests.',
  query: getSessionQuery,
  response: expandedSession,
  errors: ['invalid_request', 'unknown_field', 'not_found'],
  example: { response: SESSION_EXAMPLE },
} as const satisfies Operation;

const cancelSessionOperation = {
  id: 'cancelPaymentSession',
  method: 'post',
  path: '/api/v1/checkout/sessions/{id}/cancel',
  tag: 'Payment sessions',
  scope: 'payments:create',
  summary: 'Cancel (expire) a payment session',
  description:
    'Only before it is paid or expired. Money that arrives afterwards is refundable and never makes the session paid.',
  body: cancelSessionBody,
  response: cancelledSession,
  errors: [
    'invalid_request',
    'unknown_field',
    'session_expired',
    'session_already_paid',
    'not_found',
    'conflict',
    'idempotency_conflict',
  ],
  nonceRidesWithCommand: true,
  example: { response: CANCELLED_SESSION_EXAMPLE },
} as const satisfies Operation;

export interface SessionParts {
  readonly refund: RefundPresenter;
  /** Absent: sessions have no timeline. */
  readonly timeline: TimelineReader | undefined;
  readonly webhooks: Pick<WebhookApi, 'eventsOf'> | undefined;
}

/** Create, get and cancel, the busiest routes. */
export function sessionRoutes(api: MerchantApi, presenter: SessionPresenter, parts: SessionParts): Route[] {
  return [
    route(createSessionOperation, async ({ caller, body }) => {
      const input = createInput(body, caller.mode);
      return input.ok ? answerOf(await api.createSession(caller, input.value), presenter.session) : input;
    }),
    route(getSessionOperation, async ({ caller, params, query: { expand } }) => {
      const id = parseSessionId(must(params.id));
      const view = id === null ? null : await api.getSession(caller, id);
      if (view === null) return NOT_FOUND;
      return answer(
        expand === undefined
          ? presenter.session(view)
          : { ...presenter.session(view), ...(await expansionOf(view, caller, expand, parts)) },
      );
    }),
    route(cancelSessionOperation, async ({ caller, params }) => {
      const id = parseSessionId(must(params.id));
      return id === null ? NOT_FOUND : answerOf(await api.cancelSession(caller, id), presenter.cancelled);
    }),
  ];
}

async function expansionOf(
  view: SessionView,
  caller: Caller,
  expand: string,
  { refund, timeline, webhooks }: SessionParts,
): Promise<object> {
  const [steps, events] = await Promise.all([
    asked(expand, 'timeline') ? timeline?.(caller, view.sessionId) : null,
    asked(expand, 'events') ? (webhooks?.eventsOf(caller, view.sessionId, MAX_EXPANDED_EVENTS) ?? []) : null,
  ]);
  return {
    ...(asked(expand, 'refunds') && { refunds: view.refunds.map((one) => refund(one, caller.mode)) }),
    ...(events && { events: events.map(presentEvent) }),
    ...(steps && { timeline: presentTimeline(steps) }),
  };
}
