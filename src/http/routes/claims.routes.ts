import { parseSessionId } from '../../domain/values/ids.ts';
import type { ClaimView, MerchantClaims } from '../../features/shared/claim-views.ts';
import { NOT_FOUND, answer } from '../answer.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { paddedAmount } from '../presenters/amount-text.ts';
import { claim, claimList, rejectClaimBody, type ClaimBody } from '../schemas/claim.schema.ts';
import { must } from '../../domain/values/must.ts';

const PATH = '/v1/payment/sessions/{id}/claims';

const EXAMPLE = {
  id: 'clm_k7w2q5m4n6p3r7s2t5v4x6y3z7',
  session_id: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4',
  transaction_id: 'txn_k7w2q5m4n6p3r7s2t5v4x6y3z7',
  network: 'ethereum',
  coin: 'USDT',
  amount: '10.00',
  from_address: '0x28C6c06298d514Db089934071355E5743bf21d60',
  payee: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  evidence: 'test_payment',
  proven: true,
  test_payment: '1.4821',
  status: 'open',
  reason: 'I paid from my account at the exchange.',
  created: 1767226800,
  refund_id: null,
  payable_from: null,
  rejected_at: null,
  rejection_reason: null,
} satisfies ClaimBody;

const listOperation = {
  id: 'listClaims',
  method: 'get',
  path: PATH,
  tag: 'Refunds',
  scope: 'payments:read',
  summary: 'List the claims of a payment session',
  description:
    'A payer claims a payment whose refund cannot go to the address that paid, and names another payee. To approve a claim, create a refund with its `claim_id`.',
  response: claimList,
  errors: ['not_found'],
  example: { response: { data: [EXAMPLE] } },
} as const satisfies Operation;

const rejectOperation = {
  id: 'rejectClaim',
  method: 'post',
  path: `${PATH}/{claim_id}/reject`,
  tag: 'Refunds',
  scope: 'refunds:create',
  summary: 'Reject a claim',
  description:
    'An approved claim can be rejected until a minute before `payable_from`; its refund then fails with `claim_rejected`.',
  body: rejectClaimBody,
  response: claim,
  errors: ['invalid_request', 'unknown_field', 'not_found', 'conflict', 'idempotency_conflict'],
  nonceRidesWithCommand: true,
  example: {
    body: { reason: 'The customer withdrew it.' },
    response: { ...EXAMPLE, status: 'rejected', rejected_at: 1767227000 },
  },
} as const satisfies Operation;

export function claimRoutes(api: MerchantClaims): Route[] {
  return [
    route(listOperation, async ({ caller, params }) => {
      const id = parseSessionId(must(params.id));
      const claims = id === null ? null : await api.listClaims(caller, id);
      return claims === null ? NOT_FOUND : answer({ data: claims.map(presentClaim) });
    }),
    route(rejectOperation, async ({ caller, params, body }) => {
      const id = parseSessionId(must(params.id));
      return id === null
        ? NOT_FOUND
        : answerOf(await api.rejectClaim(caller, id, must(params.claim_id), body?.reason), presentClaim);
    }),
  ];
}

/** The wire form of a claim. */
const presentClaim = (view: ClaimView): ClaimBody => ({
  id: view.claimId,
  session_id: view.sessionId,
  transaction_id: view.transactionId,
  network: view.network,
  coin: view.coin,
  amount: paddedAmount(view.amount, 2),
  from_address: view.fromAddress,
  payee: view.payee,
  evidence: view.evidence,
  proven: view.isProven,
  test_payment: view.testPayment,
  status: view.status,
  reason: view.reason,
  created: view.filedAtSec,
  refund_id: view.refundId,
  payable_from: view.payableFromSec,
  rejected_at: view.rejectedAtSec,
  rejection_reason: view.rejectionReason,
});
