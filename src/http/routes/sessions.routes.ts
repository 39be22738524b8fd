import type { Caller, CreateSessionInput, MerchantApi } from '../../features/shared/merchant-api.ts';
import type { SessionView } from '../../features/shared/views.ts';
import { decimalsOf, isCoin, type Coin } from '../../domain/money/money.ts';
import { maxDecimals, shownDecimals } from '../../domain/money/currencies.ts';
import { parseSessionId, type Mode, type SessionId } from '../../domain/values/ids.ts';
import { NOT_FOUND, answer } from '../answer.ts';
import type { TimelineReader } from './timeline.routes.ts';
import type { WebhookApi } from './webhooks.routes.ts';
import { presentEvent } from '../presenters/delivery.presenter.ts';
import type { RefundPresenter } from '../presenters/refund.presenter.ts';
import { presentTimeline } from '../presenters/timeline.presenter.ts';
import { asked, expandedSession, getSessionQuery, MAX_EXPANDED_EVENTS } from '../schemas/expand.schema.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { paddedAmount } from '../presenters/amount-text.ts';
import type { SessionPresenter } from '../presenters/session.presenter.ts';
import {
  cancelSessionBody,
  cancelledSession,
  createSessionBody,
  paymentSession,
  type CreateSessionBody,
} from '../schemas/session.schema.ts';
import { CANCELLED_SESSION_EXAMPLE, CREATE_SESSION_EXAMPLE, SESSION_EXAMPLE } from '../schemas/session.example.ts';
import { refusedField, type Validated } from '../validation.ts';
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

/**
 * Rules across fields: decimals by currency, return URLs by mode. Amounts get their padded form, so `10.5` and `10.50`
 * are the same request.
 */
function createInput(body: CreateSessionBody, mode: Mode): Validated<CreateSessionInput> {
  const currency = body.currency.toUpperCase();
  for (const name of ['amount', 'tax_amount', 'shipping_amount'] as const) {
    const text = body[name];
    if (text !== undefined && decimalsOf(text) > maxDecimals(currency))
      return refusedField(name, `must have at most ${maxDecimals(currency)} decimals in ${currency}`);
  }
  for (const name of ['success_url', 'cancel_url'] as const) {
    if (mode === 'live' && body[name] !== undefined && !/^https:/i.test(body[name]))
      return refusedField(name, 'must start with https:// in live mode');
  }
  const decimals = shownDecimals(currency);
  const target = body.target_currency?.toUpperCase();
  return {
    ok: true,
    value: {
      amount: paddedAmount(body.amount, decimals),
      currency,
      orderId: body.order_id,
      ...(body.merchant_domain_id === undefined ? undefined : { merchantDomainId: body.merchant_domain_id }),
      ...(body.description === undefined ? undefined : { description: body.description }),
      ...(body.line_items === undefined ? undefined : { lineItems: body.line_items }),
      ...(body.tax_amount === undefined ? undefined : { taxAmount: paddedAmount(body.tax_amount, decimals) }),
      ...(body.shipping_amount === undefined
        ? undefined
        : { shippingAmount: paddedAmount(body.shipping_amount, decimals) }),
      ...(body.success_url === undefined ? undefined : { successUrl: body.success_url }),
      ...(body.cancel_url === undefined ? undefined : { cancelUrl: body.cancel_url }),
      ...(body.metadata === undefined ? undefined : { metadata: body.metadata }),
      ...(body.expires_in === undefined ? undefined : { lifetimeSec: body.expires_in }),
      ...(body.supersedes === undefined
        ? undefined
        : { supersedes: parseSessionId(body.supersedes) ?? (body.supersedes as SessionId) }),
      ...(target !== undefined && isCoin(target) ? { targetCurrency: target satisfies Coin } : undefined),
    },
  };
}
