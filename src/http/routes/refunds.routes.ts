import { maxDecimals } from '../../domain/money/currencies.ts';
import { parseRefundId, parseSessionId, parseTransactionId } from '../../domain/values/ids.ts';
import { decimalsOf } from '../../domain/money/money.ts';
import type { MerchantApi } from '../../features/shared/merchant-api.ts';
import { NOT_FOUND, answer } from '../answer.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import type { RefundPresenter } from '../presenters/refund.presenter.ts';
import { CREATE_REFUND_EXAMPLE, REFUND_EXAMPLE } from '../schemas/refund.example.ts';
import { createRefundBody, refund } from '../schemas/refund.schema.ts';
import type { SessionPresenter } from '../presenters/session.presenter.ts';
import { asked, expandedRefund, getRefundQuery } from '../schemas/expand.schema.ts';
import { refusedField } from '../validation.ts';
import { must } from '../../domain/values/must.ts';

const createRefundOperation = {
  id: 'createRefund',
  method: 'post',
  path: '/v1/refunds',
  tag: 'Refunds',
  scope: 'refunds:create',
  summary: 'Create a refund',
  description:
    'Returns money to the address that paid, starting with the payers of the order, or from the deposit that `transaction_id` names. Send an `Idempotency-Key`, so that a retry can never become a second refund.',
  body: createRefundBody,
  bodyRequired: true,
  response: refund,
  errors: [
    'invalid_request',
    'unknown_field',
    'session_not_paid',
    'refund_exceeds_paid',
    'payer_ambiguous',
    'sender_not_acknowledged',
    'not_found',
    'idempotency_conflict',
    'conflict',
    'read_only',
  ],
  nonceRidesWithCommand: true,
  example: { body: CREATE_REFUND_EXAMPLE, response: REFUND_EXAMPLE },
} as const satisfies Operation;

const getRefundOperation = {
  id: 'getRefund',
  method: 'get',
  path: '/v1/refunds/{id}',
  tag: 'Refunds',
  scope: 'payments:read',
  readsLookUps: true,
  summary: 'Get a refund',
  description: 'With every payout: one per payer and network. `expand` includes its session.',
  query: getRefundQuery,
  response: expandedRefund,
  errors: ['invalid_request', 'unknown_field', 'not_found'],
  example: { response: REFUND_EXAMPLE },
} as const satisfies Operation;

export function refundRoutes(
  api: MerchantApi,
  present: RefundPresenter,
  { session }: Pick<SessionPresenter, 'session'>,
): Route[] {
  return [
    route(createRefundOperation, async ({ caller, body }) => {
      const amount = body.amount && { value: body.amount.value, currency: body.amount.currency.toUpperCase() };
      if (amount && decimalsOf(amount.value) > maxDecimals(amount.currency)) {
        return refusedField(
          'amount.value',
          `must have at most ${maxDecimals(amount.currency)} decimals in ${amount.currency}`,
        );
      }
      const sessionId = parseSessionId(body.session_id);
      if (sessionId === null) return NOT_FOUND;
      const transactionId = body.transaction_id === undefined ? undefined : parseTransactionId(body.transaction_id);
      if (transactionId === null) return refusedField('transaction_id', 'must be the id of a transaction');
      const outcome = await api.requestRefund(caller, {
        sessionId,
        ...(amount === undefined ? undefined : { amount }),
        ...(transactionId === undefined ? undefined : { transactionId }),
        ...(body.reason === undefined ? undefined : { reason: body.reason }),
        ...(body.acknowledge_sender === undefined ? undefined : { acknowledgeSender: body.acknowledge_sender }),
      });
      return answerOf(outcome, (view) => present(view, caller.mode));
    }),
    route(getRefundOperation, async ({ caller, params, query: { expand } }) => {
      const id = parseRefundId(must(params.id));
      const view = id === null ? null : await api.getRefund(caller, id);
      if (view === null) return NOT_FOUND;
      const of = asked(expand, 'session') ? await api.getSession(caller, view.sessionId) : null;
      return answer({ ...present(view, caller.mode), ...(of && { session: session(of) }) });
    }),
  ];
}
